package builtin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/punctual-job/punctual/executor/netrule"
)

// AddressRule says which addresses httpJobHandler may call. The zero value permits public addresses only: a job's
// parameter must not reach services of this machine or its network that trust whoever is inside.
type AddressRule struct {
	list   netrule.List
	except func(netip.AddrPort) bool
}

// Public is the word for every public address.
const Public = "public"

// ParseAddressRule reads a comma-separated list of host, host:port, .domain, address range (10.0.0.0/8), public (every
// public address) and * (every address but those of [metadata], which a range must name). A list replaces the default, which is public; an empty one is the default.
func ParseAddressRule(list string) (AddressRule, error) {
	l, err := netrule.Parse(list, Public)
	return AddressRule{list: l}, err
}

// Except is the rule without some addresses, whatever it permits.
func (r AddressRule) Except(these func(netip.AddrPort) bool) AddressRule {
	r.except = these
	return r
}

// metadata is where clouds answer whoever asks with the machine's credentials. Neither * nor a name permits it, only a range.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fd00:ec2::/32"),
	netip.MustParsePrefix("100.100.100.200/32"),
}

// never says whether an address may not be called even if its name may.
func (r AddressRule) never(at netip.AddrPort) bool {
	ip, port := at.Addr().Unmap().WithZone(""), strconv.Itoa(int(at.Port()))
	if r.except != nil && r.except(netip.AddrPortFrom(ip, at.Port())) {
		return true
	}
	inside := carried(ip)
	return slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(ip) || p.Contains(inside) }) && !r.list.Ranges(ip, port)
}

// carried is the IPv4 address that a translator or a tunnel makes of an IPv6 address, which leads to the same place: NAT64, 6to4 and what
// stood for IPv4 before them. Without one it is the zero address, which no range has.
func carried(ip netip.Addr) netip.Addr {
	if !ip.Is6() {
		return netip.Addr{}
	}
	b := ip.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(ip), netip.MustParsePrefix("::/96").Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:]))
	case netip.MustParsePrefix("2002::/16").Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return netip.Addr{}
}

// permits says whether an address that is about to be called may be.
func (r AddressRule) permits(at netip.AddrPort) bool {
	return !r.never(at) && ((r.list.Empty() || r.list.Has(Public)) && netrule.IsPublic(at.Addr()) || r.list.Addr(at.Addr(), strconv.Itoa(int(at.Port()))))
}

// errNotAllowed is the end of a call to an address that the rule leaves out.
var errNotAllowed = errors.New("is not an address that HTTP jobs may call; the executor's operator can allow it")

// dial connects if the rule permits it. It looks at each address the name resolved to at the moment of connecting, so
// that a name cannot change its address between the look and the call.
func (r AddressRule) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	allowed := r.permits
	if r.list.Name(host, port) { // whose owner is trusted
		allowed = func(at netip.AddrPort) bool { return !r.never(at) }
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err == nil && !allowed(at) {
			err = fmt.Errorf("%s %w", at, errNotAllowed)
		}
		return err
	}}
	return dialer.DialContext(ctx, network, address)
}
