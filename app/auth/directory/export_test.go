package directory

import (
	"context"
	"net"
	"net/http"
)

// Through has the provider asked by another transport, made of the one it has.
func (p *Provider) Through(change func(http.RoundTripper) http.RoundTripper) {
	p.client.Transport = change(p.client.Transport)
}

// AskTime bounds one request to a provider.
const AskTime = askTime

// FinishTime bounds all that is asked while somebody waits to be let in.
const FinishTime = finishTime

// OpenLDAP has connections to LDAP servers made by another function.
func (d *Directories) OpenLDAP(open func(ctx context.Context, network, address string) (net.Conn, error)) {
	for _, l := range d.ldap {
		l.open = open
	}
}
