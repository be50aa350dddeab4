package manage

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/executor/netrule"
	"github.com/punctual-job/punctual/executor/wire"
)

// Allow says which executor addresses may be called although nobody registered them. Without a rule only the addresses of
// a job's own group can be chosen by hand: otherwise whoever may run a job could make the admin call anything it reaches.
type Allow struct{ netrule.List }

// Permits says whether an address, already in the form of [NormalAddress], fits a rule.
func (a Allow) Permits(address string) bool {
	if wire.Pulls(address) { // nobody is called there
		return true
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return a.Addr(ip, u.Port())
	}
	return a.Name(u.Hostname(), u.Port())
}

// maxAddressLength is what the run's column holds.
const maxAddressLength = 255

var errAddress = errors.New("not an address of the form http://host:port/")

// NormalAddress reads an executor's address as people type it and gives it the form in which it is stored and compared:
// scheme and host in lower case, one slash at the end, or none after the name of an executor that asks for its calls. A bare host:port gets http://, as upstream's oldest executors have it.
func NormalAddress(text string) (string, error) {
	text = strings.TrimSpace(text)
	if wire.Pulls(text) {
		if normal, ok := wire.NormalPullAddress(text); ok {
			return normal, nil
		}
		return "", errAddress
	}
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
