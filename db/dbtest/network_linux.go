package dbtest

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// network is a switch with cables to processes that have nothing else. It is gone with the process that holds it.
type network struct {
	holder *exec.Cmd
	hold   io.Closer
	made   int            // cables
	ports  map[int]string // of the processes that were launched last
}

func newNetwork() (*network, error) {
	holder := exec.Command("cat") // until its input ends
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setpgid: true}
	hold, err := holder.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := holder.Start(); err != nil {
		return nil, err
	}
	n := &network{holder: holder, hold: hold, ports: make(map[int]string)}
	if err := n.ip("link add switch type bridge", "link set switch up"); err != nil {
		n.remove()
		return nil, err
	}
	return n, nil
}

func (n *network) remove() {
	n.hold.Close()
	_ = n.holder.Wait() // it was told to end
}

func (n *network) host(i int) string { return fmt.Sprintf("10.77.0.%d", i+1) }

// launch starts a process in a network of its own, which a cable connects with the switch.
func (n *network) launch(cmd *exec.Cmd, i int, host string) error {
	// It waits for its cable before it becomes what it is to be.
	cmd.Args = append([]string{"sh", "-c", `read -r go && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	start, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.made++ // the cable of a process that has ended may be there a moment longer
	port, pid := "port"+strconv.Itoa(n.made), strconv.Itoa(cmd.Process.Pid)
	n.ports[i] = port
	err = errors.Join(
		n.ip("link add "+port+" type veth peer name cable netns "+pid, "link set "+port+" master switch up"),
		ip(pid, "link set lo up", "addr add "+host+"/24 dev cable", "link set cable up"),
	)
	if err == nil {
		_, err = io.WriteString(start, "\n")
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	return start.Close()
}

// plug puts the cable of a process into the switch, or takes it out: then what is sent goes nowhere, and nobody is told.
func (n *network) plug(i int, in bool) error {
	if in {
		return n.ip("link set " + n.ports[i] + " master switch")
	}
	return n.ip("link set " + n.ports[i] + " nomaster")
}

func (n *network) ip(commands ...string) error {
	return ip(strconv.Itoa(n.holder.Process.Pid), commands...)
}

// ip runs commands in the network of a process.
func ip(pid string, commands ...string) error {
	for _, command := range commands {
		args := append([]string{"-t", pid, "-n", "ip"}, strings.Fields(command)...)
		if out, err := exec.Command("nsenter", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", command, err, out)
		}
	}
	return nil
}
