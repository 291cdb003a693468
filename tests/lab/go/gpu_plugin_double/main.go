// SPDX-License-Identifier: GPL-3.0-or-later

// A device plugin without GPUs. To the kubelet it is a real one: it registers, lists devices, reports their health and
// answers allocations. Only the hardware is doubled: each GPU is /dev/null under the name that a GPU's node would have.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	socketName = "gpu-plugin-double.sock"
	// A file here that is called as a GPU's number makes that GPU unhealthy.
	unhealthyFolder = "/run/gpu-plugin-double/unhealthy"
	lookEvery       = 200 * time.Millisecond
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	gpus, replicas int
}

func main() {
	resource := setting("RESOURCE", "nvidia.com/gpu")
	p := plugin{gpus: number("GPUS", "2"), replicas: number("REPLICAS", "1")}
	// Only the nvidia runtime brings the driver's libraries into a container, so without it the real plugin ends here.
	if os.Getenv("RUNTIME_CLASS") == "" {
		fail("NVML could not be loaded: ERROR_LIBRARY_NOT_FOUND")
	}
	socket := filepath.Join(api.DevicePluginPath, socketName)
	if err := p.serve(socket); err != nil {
		fail("cannot serve: %v", err)
	}
	if err := register(resource); err != nil {
		fail("cannot register: %v", err)
	}
	log.Printf("registered %d devices as %s", p.gpus*p.replicas, resource)
	// A kubelet that starts anew removes the sockets of all plugins; the container starts anew too, and registers again.
	for exists(socket) {
		time.Sleep(lookEvery)
	}
	fail("the kubelet has removed %s", socket)
}

func (p plugin) serve(socket string) error {
	if err := os.RemoveAll(socket); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go func() { fail("stopped serving: %v", server.Serve(listener)) }()
	return nil
}

func register(resource string) error {
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	request := &api.RegisterRequest{Version: api.Version, Endpoint: socketName, ResourceName: resource}
	_, err = api.NewRegistrationClient(connection).Register(context.Background(), request)
	return err
}

func (plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	var told map[string]string
	for stream.Context().Err() == nil {
		if now := p.health(); !maps.Equal(now, told) {
			told = now
			if err := stream.Send(&api.ListAndWatchResponse{Devices: devices(now)}); err != nil {
				return err
			}
		}
		time.Sleep(lookEvery)
	}
	return nil
}

// health of each device by its ID: the GPU's number and which replica of it this is.
func (p plugin) health() map[string]string {
	found := map[string]string{}
	for gpu := range p.gpus {
		health := api.Healthy
		if exists(filepath.Join(unhealthyFolder, strconv.Itoa(gpu))) {
			health = api.Unhealthy
		}
		for replica := range p.replicas {
			found[fmt.Sprintf("%d::%d", gpu, replica)] = health
		}
	}
	return found
}

func devices(health map[string]string) []*api.Device {
	var list []*api.Device
	for _, id := range slices.Sorted(maps.Keys(health)) {
		list = append(list, &api.Device{ID: id, Health: health[id]})
	}
	return list
}

func (plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		gpus := map[string]bool{}
		for _, id := range container.DevicesIds {
			gpu, _, _ := strings.Cut(id, "::")
			gpus[gpu] = true
		}
		response.ContainerResponses = append(response.ContainerResponses, allocation(slices.Sorted(maps.Keys(gpus))))
	}
	return response, nil
}

func allocation(gpus []string) *api.ContainerAllocateResponse {
	given := &api.ContainerAllocateResponse{Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(gpus, ",")}}
	for _, gpu := range gpus {
		node := &api.DeviceSpec{HostPath: "/dev/null", ContainerPath: "/dev/nvidia" + gpu, Permissions: "rw"}
		given.Devices = append(given.Devices, node)
	}
	return given
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func number(name, otherwise string) int {
	value, err := strconv.Atoi(setting(name, otherwise))
	if err != nil {
		fail("%s: %v", name, err)
	}
	return value
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fail ends the program with a message that the pod's status shows.
func fail(format string, values ...any) {
	message := fmt.Sprintf(format, values...)
	_ = os.WriteFile("/dev/termination-log", []byte(message), 0o600)
	log.Fatal(message)
}
