package app

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen opens a listener; its error says by which setting it can be mended.
func listen(address, variable string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, listenError(address, variable, err)
	}
	return l, nil
}

// wsaAddrInUse is Windows' own number for a taken port.
const wsaAddrInUse = syscall.Errno(10048)

func listenError(address, variable string, err error) error {
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddrInUse):
		return fmt.Errorf("%w: another program has port %s (another Punctual?); stop it, or choose another port with %s, such as %s=%s",
			err, port, variable, variable, anotherPort(address))
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w: this user may not listen on port %s; choose one above 1023 with %s", err, port, variable)
	}
	return fmt.Errorf("%w; the address is %s's", err, variable)
}

// anotherPort is the address with the next port.
func anotherPort(address string) string {
	host, port, _ := net.SplitHostPort(address)
	n, err := net.LookupPort("tcp", port)
	if err != nil || n == 65535 {
		n = 8080
	}
	return net.JoinHostPort(host, fmt.Sprint(n+1))
}

// Where the two listeners are set.
const (
	listenVariable      = "PUNCTUAL_LISTEN"
	adminListenVariable = "PUNCTUAL_ADMIN_LISTEN"
)

// checkPorts fails where a listener could not be opened, so that a start in vain leaves no database behind. They are opened for good
// only when there is somebody to answer: until then an executor shall be refused, and ask another admin.
func (o Options) checkPorts() error {
	check := func(address, variable string) error {
		l, err := listen(address, variable)
		if err != nil {
			return err
		}
		return l.Close()
	}
	if o.Listener == nil {
		if err := check(o.Listen, listenVariable); err != nil {
			return err
		}
	}
	if o.AdminListen == "" {
		return nil
	}
	return check(o.AdminListen, adminListenVariable)
}
