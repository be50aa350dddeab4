package builtin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// AddressRule says which addresses httpJobHandler may call. The zero value permits public addresses only: a job's
// parameter must not reach services of this machine or its network that trust whoever is inside.
type AddressRule struct{ items []addressItem }

type addressItem struct {
	any, public bool
	prefix      netip.Prefix // of addresses
	host        string       // or a host name, whatever it resolves to; a leading dot stands for everything under it
	port        string       // empty: any
}

// ParseAddressRule reads a comma-separated list of host, host:port, .domain, address range (10.0.0.0/8), public (every
// public address) and * (every address). A list replaces the default, which is public; an empty one is the default.
func ParseAddressRule(list string) (AddressRule, error) {
	var r AddressRule
	for _, text := range strings.Split(list, ",") {
		text = strings.ToLower(strings.TrimSpace(text))
		if text == "" {
			continue
		}
		item, err := parseAddressItem(text)
		if err != nil {
			return AddressRule{}, fmt.Errorf("%q: %w", text, err)
		}
		r.items = append(r.items, item)
	}
	return r, nil
}

var errAddressItem = errors.New("write a host, host:port, .domain, an address range such as 10.0.0.0/8, public, or *")

func parseAddressItem(text string) (addressItem, error) {
	switch {
	case text == "*":
		return addressItem{any: true}, nil
	case text == "public":
		return addressItem{public: true}, nil
	case strings.Contains(text, "/"):
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return addressItem{}, errAddressItem
		}
		return addressItem{prefix: prefix.Masked()}, nil
	}
	item := addressItem{host: strings.Trim(text, "[]")}
	if host, port, err := net.SplitHostPort(text); err == nil {
		item.host, item.port = host, port
	}
	if ip, err := netip.ParseAddr(item.host); err == nil {
		ip = ip.Unmap()
		item.host, item.prefix = "", netip.PrefixFrom(ip, ip.BitLen())
		return item, nil
	}
	if strings.Trim(item.host, ".") == "" || strings.ContainsAny(item.host, " @?#*:[]") || strings.Trim(item.port, "0123456789") != "" {
		return addressItem{}, errAddressItem
	}
	return item, nil
}

// permitsName says whether a host name is listed itself. Its owner is trusted, so it is not asked what it resolves to.
func (r AddressRule) permitsName(host, port string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(r.items, func(i addressItem) bool {
		switch {
		case i.any:
			return true
		case i.host == "" || i.port != "" && i.port != port:
			return false
		case i.host[0] == '.':
			return strings.HasSuffix(host, i.host)
		}
		return host == i.host
	})
}

// permits says whether an address that is about to be called may be.
func (r AddressRule) permits(at netip.AddrPort) bool {
	ip, port := at.Addr().Unmap().WithZone(""), fmt.Sprint(at.Port())
	if len(r.items) == 0 {
		return isPublic(ip)
	}
	return slices.ContainsFunc(r.items, func(i addressItem) bool {
		switch {
		case i.any:
			return true
		case i.public:
			return isPublic(ip)
		}
		return i.prefix.IsValid() && i.prefix.Contains(ip) && (i.port == "" || i.port == port)
	})
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
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !r.permitsName(host, port) {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err == nil && !r.permits(at) {
				err = fmt.Errorf("%s %w", at, errNotAllowed)
			}
			return err
		}
	}
	return dialer.DialContext(ctx, network, address)
}

// notPublic are the ranges of IANA's special-purpose registries that netip has no word for. Those that carry an IPv4
// address inside (NAT64, 6to4, Teredo) would lead around the rule.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // between a carrier and its customers; some clouds' metadata
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"),
}

func isPublic(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() &&
		!slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(ip) })
}
