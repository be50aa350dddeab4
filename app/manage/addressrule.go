package manage

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"net/url"

	"github.com/punctual-job/punctual/executor/wire"
)

// DefaultDeny keeps the admin from link-local addresses, where clouds answer whoever asks with the machine's credentials.
const DefaultDeny = "169.254.0.0/16,fe80::/10"

// ErrAddressDenied means that executors are not called at an address.
var ErrAddressDenied = errors.New("the rule executor_deny, or the admin's own port, keeps this address from being called")

// AddressRule says at which addresses no executor is called: neither a registered one, nor one that somebody typed, nor one that a
// name stands for at the moment of the call.
type AddressRule struct{ settings *Settings }

// NewAddressRule makes the rule of an installation. own tells the admin's own listeners, at which no executor is either, but for those of
// this process, which inside tells: nobody connects to them.
func NewAddressRule(s *Settings, own func(netip.AddrPort) bool, inside func(address string) bool) AddressRule {
	s.own, s.inside = own, inside
	return AddressRule{settings: s}
}

// isInside says whether an address is that of an executor in this process.
func (s *Settings) isInside(address string) bool { return s.inside != nil && s.inside(address) }

// Dial refuses a connection to host:port. It is asked with the name, and again with what the name stands for.
func (r AddressRule) Dial(hostPort string) error {
	if at, err := netip.ParseAddrPort(hostPort); err == nil {
		at = netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
		if r.settings.own != nil && r.settings.own(at) {
			return ErrAddressDenied
		}
		hostPort = at.String()
	}
	if r.settings.deny().Permits("http://" + hostPort) {
		return ErrAddressDenied
	}
	return nil
}

// Refuses says whether an address that is about to be stored can be seen to be denied.
func (r AddressRule) Refuses(address string) bool {
	if wire.Pulls(address) { // nobody is called there
		return false
	}
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80")
	return r.Dial(net.JoinHostPort(u.Hostname(), port)) != nil
}

func (s *Settings) refuses(address string) bool { return AddressRule{settings: s}.Refuses(address) }
