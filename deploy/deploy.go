// Package deploy reads the files beside it, so that tests can hold them against the programs: what a container sets, where it is asked
// how it is, and how long it has to stop. Nothing but tests imports it. The chart is here as tools/deploy renders it.
package deploy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Container is one container of a file of this folder.
type Container struct {
	File, Name, Image string
	Args              []string
	Env               map[string]string
	Ports             []Port
	Probes            []Probe
	Folders           []string      // what is mounted
	Grace             time.Duration // from the first signal to the last
	Before            time.Duration // of it pass before the first signal
	// Known are the names under which others are reached from here, with the port.
	Known map[string]int
}

// Port is a named port of a container; Compose has no names.
type Port struct {
	Name   string
	Number int
}

// Probe is a question to a container: by HTTP if Path is set, else by a program.
type Probe struct {
	Path, Port string
	Command    []string
}

// Program is the name of the program of this project that a container runs, or empty.
func (c Container) Program() string {
	name, _, _ := strings.Cut(c.Image, ":")
	if name == "punctual" || name == "punctual-executor" {
		return name
	}
	return ""
}

// PortOf is the number of a named port, or 0.
func (c Container) PortOf(name string) int {
	for _, p := range c.Ports {
		if p.Name == name {
			return p.Number
		}
	}
	return 0
}

// Containers are those of all files below root, the folder of the repository.
func Containers(root string) ([]Container, error) {
	var all []Container
	for _, kind := range []struct {
		pattern string
		read    func(string) ([]Container, error)
	}{{"deploy/kubernetes/*.yaml", manifests}, {"tools/deploy/testdata/*.yaml", manifests}, {"deploy/compose/*.yaml", composed}} {
		files, err := filepath.Glob(filepath.Join(root, kind.pattern))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no %s: %w", kind.pattern, err)
		}
		for _, file := range files {
			found, err := kind.read(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

type kubernetesProbe struct {
	HTTPGet *struct{ Path, Port string } `yaml:"httpGet"`
	Exec    *struct{ Command []string }
}

type kubernetesContainer struct {
	Name, Image  string
	Args         []string
	Env          []struct{ Name, Value string }
	VolumeMounts []struct {
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	StartupProbe   *kubernetesProbe `yaml:"startupProbe"`
	LivenessProbe  *kubernetesProbe `yaml:"livenessProbe"`
	ReadinessProbe *kubernetesProbe `yaml:"readinessProbe"`
	Lifecycle      struct {
		PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
	}
}

type document struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Ports    []struct{ Port int }
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
				Containers                    []kubernetesContainer
				InitContainers                []kubernetesContainer `yaml:"initContainers"`
			}
		}
	}
}

// manifests reads the documents of Kubernetes. Its services are known to all of them, under their names.
func manifests(file string) ([]Container, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found []Container
	known := map[string]int{"punctual": 8080, "punctual.punctual": 8080} // where another file has it
	for documents := yaml.NewDecoder(f); ; {
		var d document
		if err := documents.Decode(&d); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		if d.Kind == "Service" && len(d.Spec.Ports) > 0 {
			known[d.Metadata.Name] = d.Spec.Ports[0].Port
		}
		pod := d.Spec.Template.Spec
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			one := c.container()
			one.File, one.Known, one.Grace = file, known, time.Duration(pod.TerminationGracePeriodSeconds)*time.Second
			found = append(found, one)
		}
	}
}

func (c kubernetesContainer) container() Container {
	one := Container{Name: c.Name, Image: c.Image, Args: c.Args, Env: make(map[string]string), Before: time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second}
	for _, e := range c.Env {
		one.Env[e.Name] = e.Value
	}
	for _, m := range c.VolumeMounts {
		one.Folders = append(one.Folders, m.MountPath)
	}
	for _, p := range c.Ports {
		one.Ports = append(one.Ports, Port{p.Name, p.ContainerPort})
	}
	for _, p := range []*kubernetesProbe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		switch {
		case p == nil:
		case p.HTTPGet != nil:
			one.Probes = append(one.Probes, Probe{Path: p.HTTPGet.Path, Port: p.HTTPGet.Port})
		case p.Exec != nil:
			one.Probes = append(one.Probes, Probe{Command: p.Exec.Command})
		}
	}
	return one
}

// composed reads a file of Docker Compose, whose services are known to each other by their names.
func composed(file string) ([]Container, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var project struct {
		Services map[string]struct {
			Image          string
			Grace          string `yaml:"stop_grace_period"`
			Command        []string
			Environment    map[string]string
			Ports, Volumes []string
		}
	}
	if err := yaml.Unmarshal(text, &project); err != nil {
		return nil, err
	}
	known := make(map[string]int)
	for name := range project.Services {
		known[name] = 8080
	}
	var found []Container
	for name, s := range project.Services {
		one := Container{File: file, Name: name, Image: s.Image, Args: s.Command, Env: s.Environment, Known: known, Folders: []string{"/run/secrets"}}
		if one.Grace, err = time.ParseDuration(s.Grace); err != nil && one.Program() != "" {
			return nil, err
		}
		for _, volume := range s.Volumes {
			_, folder, _ := strings.Cut(volume, ":")
			one.Folders = append(one.Folders, folder)
		}
		for _, published := range s.Ports {
			_, inside, _ := strings.Cut(published, ":")
			number, err := strconv.Atoi(inside)
			if err != nil {
				return nil, err
			}
			one.Ports = append(one.Ports, Port{"http", number})
		}
		found = append(found, one)
	}
	return found, nil
}
