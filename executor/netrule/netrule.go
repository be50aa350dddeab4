// Package netrule reads lists of network addresses that are allowed or denied, and says what is on them.
package netrule

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// List is what a list says. There is nothing on the zero value.
type List struct{ rules []rule }

type rule struct {
	text   string // as it was written
	any    bool
	word   string
	prefix netip.Prefix // of addresses
	host   string       // or a host name, whatever it resolves to; a leading dot stands for everything under it
	port   string       // empty: any
}

// Error says which part of a list cannot be read.
type Error struct {
	Part  string
	words []string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%q: write a host, host:port, .domain, an address range such as 10.0.0.0/8, %sor *", e.Part, strings.Join(append(e.words, ""), ", "))
}

// Parse reads a comma-separated list of host, host:port, .domain (also written *.domain), address range (10.0.0.0/8) and *, which
// is everything. Words are more of what may stand in it; see [List.Has]. The error is an [*Error].
func Parse(list string, words ...string) (List, error) {
	var l List
	for _, text := range strings.FieldsFunc(list, ends) {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		r, ok := parse(strings.ToLower(text), words)
		if !ok {
			return List{}, &Error{Part: text, words: words}
		}
		r.text = text
		l.rules = append(l.rules, r)
	}
	return l, nil
}

// ends says whether a character ends a rule in a list. A line end does too: with it in a name, a rule of what is denied would be about nothing.
func ends(r rune) bool { return r == ',' || r == '\n' || r == '\r' }

// unseen says whether a character is none of a name. What has no width, as it comes along from web pages, is none: 10.0.0.5 with it behind would be a
// host name, and a rule about nothing.
func unseen(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }

func parse(text string, words []string) (rule, bool) {
	switch {
	case text == "*":
		return rule{any: true}, true
	case slices.Contains(words, text):
		return rule{word: text}, true
	}
	if prefix, err := Range(text); err == nil {
		return rule{prefix: prefix}, true
	}
	r := rule{host: strings.TrimPrefix(text, "*")}
	if host, port, err := net.SplitHostPort(r.host); err == nil {
		r.host, r.port = host, port
	} else if strings.HasPrefix(r.host, "[") && strings.HasSuffix(r.host, "]") {
		r.host = r.host[1 : len(r.host)-1]
	}
	if prefix, err := Range(r.host); err == nil && prefix.IsSingleIP() {
		r.host, r.prefix = "", prefix
		return r, true
	}
	star := strings.HasPrefix(text, "*") && !strings.HasPrefix(r.host, ".")
	if star || strings.Trim(r.host, ".") == "" || strings.ContainsAny(r.host, "/@?#*:[]") || strings.ContainsFunc(r.host, unseen) || strings.Trim(r.port, "0123456789") != "" {
		return rule{}, false
	}
	r.host = strings.TrimSuffix(r.host, ".")
	return r, true
}

// Range reads an address range, or an address, which is a range of one.
func Range(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		ip = ip.Unmap()
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, errors.New("neither an address nor a range such as 10.0.0.0/8")
	}
	if ip := prefix.Addr(); ip.Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(ip.Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), nil
}

// Empty says whether there is nothing on the list.
func (l List) Empty() bool { return len(l.rules) == 0 }

// Has says whether one of the words that [Parse] was given is on the list.
func (l List) Has(word string) bool {
	return slices.ContainsFunc(l.rules, func(r rule) bool { return r.word == word })
}

// Name says whether a host is on the list by its name, whatever that resolves to.
func (l List) Name(host, port string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(l.rules, func(r rule) bool {
		switch {
		case r.any:
			return true
		case r.host == "" || r.port != "" && r.port != port:
			return false
		case r.host[0] == '.':
			return strings.HasSuffix(host, r.host)
		}
		return host == r.host
	})
}

// Addr says whether an address is on the list. An IPv4 address in the form of an IPv6 address is one.
func (l List) Addr(ip netip.Addr, port string) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(l.rules, func(r rule) bool {
		return r.any || r.prefix.IsValid() && r.prefix.Contains(ip) && (r.port == "" || r.port == port)
	})
}

// Ranges says whether an address is on the list by an address or a range, and not for being any.
func (l List) Ranges(ip netip.Addr, port string) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(l.rules, func(r rule) bool {
		return r.prefix.IsValid() && r.prefix.Contains(ip) && (r.port == "" || r.port == port)
	})
}

// String is the list without what stands for nothing.
func (l List) String() string {
	parts := make([]string, len(l.rules))
	for i, r := range l.rules {
		parts[i] = r.text
	}
	return strings.Join(parts, ",")
}
