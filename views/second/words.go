package second

import "github.com/punctual-job/punctual/views/layout"

// kind is what a second factor is called.
func kind(p layout.Page, kind string) string {
	if kind == "passkey" {
		return p.T("second.kind.passkey")
	}
	return p.T("second.kind.totp")
}
