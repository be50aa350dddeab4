package executor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Ports tried when none was chosen, as upstream does.
const (
	firstPort = 9999
	triedPort = 1000
)

// listen opens the port.
func (e *Executor) listen() (net.Listener, error) {
	if e.config.Listener != nil {
		return e.config.Listener, nil
	}
	host, port := "", "0"
	if e.config.Listen != "" {
		var err error
		if host, port, err = net.SplitHostPort(e.config.Listen); err != nil {
			return nil, err
		}
	}
	if port != "0" && port != "" {
		return net.Listen("tcp", net.JoinHostPort(host, port))
	}
	var last error
	for p := firstPort; p < firstPort+triedPort; p++ {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		if err == nil {
			return listener, nil
		}
		last = err
	}
	return nil, last
}

// advertise is the URL admins reach us at: the configured one, or made of the address listened on. When that is every
// address of the machine, the one its host name stands for is taken, else the first of an interface that is up.
func (e *Executor) advertise(addr net.Addr) string {
	if e.config.Address != "" {
		return e.config.Address
	}
	scheme := "http://"
	if e.tls != nil {
		scheme = "https://"
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return scheme + addr.String() + "/"
	}
	host := tcp.IP.String()
	if tcp.IP == nil || tcp.IP.IsUnspecified() {
		host = MachineAddress()
	}
	return scheme + net.JoinHostPort(host, strconv.Itoa(tcp.Port)) + "/"
}

// MachineAddress is where others reach this machine, as far as it can tell: what its host name stands for, else the first address of an
// interface that is up.
func MachineAddress() string {
	if name, err := os.Hostname(); err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		addresses, _ := net.DefaultResolver.LookupIP(ctx, "ip4", name)
		for _, ip := range addresses {
			if ip.IsGlobalUnicast() {
				return ip.String()
			}
		}
	}
	interfaces, _ := net.InterfaceAddrs()
	best := ""
	for _, address := range interfaces {
		ipNet, ok := address.(*net.IPNet)
		if !ok || !ipNet.IP.IsGlobalUnicast() {
			continue
		}
		if ipNet.IP.To4() != nil {
			return ipNet.IP.String()
		}
		if best == "" {
			best = ipNet.IP.String()
		}
	}
	if best != "" {
		return best
	}
	return "127.0.0.1"
}

// beatLoop registers at once and then at every interval; while that fails it tries more often.
func (e *Executor) beatLoop(ctx context.Context) {
	if len(e.config.Admins) == 0 {
		return
	}
	const firstAgain, lastAgain = time.Second, 5 * time.Second
	again := firstAgain
	declared := false
	for {
		wait := e.config.BeatInterval
		err := e.register(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if again == firstAgain || e.registered.Load() {
				e.logger.Warn("cannot register with the admin, trying again", "group", e.config.AppName, "error", err)
			}
			wait, again = min(again, wait), min(again*2, lastAgain)
			e.registered.Store(false)
		case !e.registered.Swap(true):
			e.logger.Info("registered", "group", e.config.AppName, "executor", e.address)
			again = firstAgain
			e.reporter.reached()
		}
		if err == nil && !declared {
			declared = e.declare(ctx)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-e.beatNow:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if e.draining() {
			return
		}
	}
}

// register says that we are alive. Another token of the file is shown first; where admins do not know it yet, the one that they know.
func (e *Executor) register(ctx context.Context) error {
	if next := e.token.renewed(); next != "" {
		err := e.newAdmins(e.client, func() string { return next }).Registry(ctx, e.registration())
		if err == nil {
			e.token.took(next)
			e.logger.Info("the admin takes the new access token")
			return nil
		}
		if refused := (*wire.RefusedError)(nil); !errors.As(err, &refused) {
			return err
		}
	}
	return e.admins.Registry(ctx, e.registration())
}

// unregister takes our address from the admins.
func (e *Executor) unregister() {
	if len(e.config.Admins) == 0 || e.puller != nil && e.puller.nameTaken() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := e.admins.RegistryRemove(ctx, e.registration()); err != nil {
		e.logger.Warn("cannot leave the registry; the admin forgets us after 90 s", "error", err)
	}
}

func (e *Executor) registration() wire.RegistryRequest {
	return wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: e.config.AppName, RegistryValue: e.address, CodeHandlers: e.codeHandlers(), TakesEnvironment: true}
}

func (e *Executor) draining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state != stateStarted
}

// instanceMark is a name for this data folder, made once. It marks the processes of its scripts, so that after a crash
// the ones that were left behind can be found.
func instanceMark(dir string) (string, error) {
	file := filepath.Join(dir, "instance")
	if mark, err := os.ReadFile(file); err == nil && len(mark) == 32 {
		return string(mark), nil
	}
	mark := newMark()
	if err := os.WriteFile(file, []byte(mark), 0o600); err != nil {
		return "", fmt.Errorf("instance: %w", err)
	}
	return mark, nil
}
