package directory

import "net/http"

// Through has the provider asked by another transport, made of the one it has.
func (p *Provider) Through(change func(http.RoundTripper) http.RoundTripper) {
	p.client.Transport = change(p.client.Transport)
}

// AskTime bounds one request to a provider.
const AskTime = askTime
