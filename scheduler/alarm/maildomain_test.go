package alarm

import (
	"errors"
	"testing"
)

func TestMailsGoToAllowedDomainsOnly(t *testing.T) {
	t.Parallel()
	d := Defaults{MailDomains: []string{"example.com", "例子.cn"}}
	for address, want := range map[string]bool{
		"a@example.com": true, "a@EXAMPLE.com": true, "a@例子.cn": true, "a@sub.example.com": false, "a@evil.example": false,
		"a@example.com@evil.example": false, "example.com": false, "": false,
	} {
		if got := d.MailsTo(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
		if !(Defaults{}).MailsTo(address) {
			t.Errorf("%q without a list", address)
		}
	}
	a := &Alarmer{cfg: Config{Defaults: func() Defaults { return d }}}
	// Nothing is dialled: the host does not exist.
	err := a.sendMail(t.Context(), &Settings{Host: "nowhere.invalid", Port: 25}, &message{recipient: "a@evil.example"})
	if refused, ok := errors.AsType[refusal](err); !ok || reasonOf(refused).Key != mailDomain {
		t.Errorf("%v", err)
	}
}
