package manage

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Allow says which executor addresses may be called although nobody registered them. Without a rule only the addresses of
// a job's own group can be chosen by hand: otherwise whoever may run a job could make the admin call anything it reaches.
type Allow struct{ rules []allowRule }

type allowRule struct {
	any    bool
	prefix netip.Prefix // of numeric addresses
	host   string       // or a host name; a leading dot stands for everything under it
	port   string       // empty: any
}

// ParseAllow reads a comma-separated list of host, host:port, .domain, address range (10.0.0.0/8) and *.
func ParseAllow(list string) (Allow, error) {
	var a Allow
	for item := range strings.SplitSeq(list, ",") {
		item = strings.ToLower(strings.TrimSpace(item))
		if item == "" {
			continue
		}
		r, err := parseAllowRule(item)
		if err != nil {
			return Allow{}, fmt.Errorf("%q: %w", item, err)
		}
		a.rules = append(a.rules, r)
	}
	return a, nil
}

var errAllowRule = errors.New("write a host, host:port, .domain, an address range such as 10.0.0.0/8, or *")

func parseAllowRule(item string) (allowRule, error) {
	if item == "*" {
		return allowRule{any: true}, nil
	}
	if strings.Contains(item, "/") {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			return allowRule{}, errAllowRule
		}
		return allowRule{prefix: prefix.Masked()}, nil
	}
	if ip, err := netip.ParseAddr(item); err == nil {
		return allowRule{prefix: netip.PrefixFrom(ip, ip.BitLen())}, nil
	}
	u, err := url.Parse("http://" + item)
	if err != nil || u.Host != item || u.Hostname() == "" || strings.ContainsAny(item, "@?# ") {
		return allowRule{}, errAllowRule
	}
	r := allowRule{host: u.Hostname(), port: u.Port()}
	if ip, err := netip.ParseAddr(r.host); err == nil {
		r.host, r.prefix = "", netip.PrefixFrom(ip, ip.BitLen())
	}
	return r, nil
}

// Permits says whether an address, already in the form of [NormalAddress], fits a rule.
func (a Allow) Permits(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	ip, numeric := netip.Addr{}, false
	if parsed, err := netip.ParseAddr(host); err == nil {
		ip, numeric = parsed.Unmap(), true
	}
	return slices.ContainsFunc(a.rules, func(r allowRule) bool {
		switch {
		case r.any:
			return true
		case r.port != "" && r.port != u.Port():
			return false
		case r.prefix.IsValid():
			return numeric && r.prefix.Contains(ip)
		case strings.HasPrefix(r.host, "."):
			return strings.HasSuffix(host, r.host)
		default:
			return host == r.host
		}
	})
}

// maxAddressLength is what the run's column holds.
const maxAddressLength = 255

var errAddress = errors.New("not an address of the form http://host:port/")

// NormalAddress reads an executor's address as people type it and gives it the form in which it is stored and compared:
// scheme and host in lower case, one slash at the end. A bare host:port gets http://, as upstream's oldest executors have it.
func NormalAddress(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxAddressLength-len("http://")-1 {
		return "", errAddress
	}
	bare := !strings.Contains(text, "://")
	if bare {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || bare && u.Port() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return "", errAddress
	}
	host := strings.ToLower(u.Hostname())
	if host == "" || strings.ContainsAny(host, " <>\"'\\,;%") { // a % would be read as the beginning of a code next time
		return "", errAddress
	}
	if ip, err := netip.ParseAddr(host); err == nil && (ip.IsUnspecified() || ip.IsMulticast()) {
		return "", errAddress
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", errAddress
		}
	} else if strings.HasSuffix(u.Host, ":") {
		return "", errAddress
	}
	path := strings.TrimRight(u.EscapedPath(), "/") + "/"
	return u.Scheme + "://" + strings.ToLower(u.Host) + path, nil
}

// splitAddresses cuts a list at commas, semicolons, blanks and line ends, leaving out empty parts.
func splitAddresses(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool {
		return r == ',' || r == '，' || r == ';' || r == '\n' || r == '\r' || r == '\t' || r == ' '
	})
}

// normalAddresses reads a list of addresses, each once, in the order typed; bad is the first that is none.
func normalAddresses(list string) (addresses []string, bad string) {
	for _, text := range splitAddresses(list) {
		a, err := NormalAddress(text)
		if err != nil {
			return nil, text
		}
		if !slices.Contains(addresses, a) {
			addresses = append(addresses, a)
		}
	}
	return addresses, ""
}
