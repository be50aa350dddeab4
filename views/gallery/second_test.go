package gallery

import (
	"fmt"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/login"
	"github.com/punctual-job/punctual/views/second"
	"github.com/punctual-job/punctual/views/users"
)

// question is what a browser would be asked for a passkey; the gallery's asks for none.
const question = `{"challenge":"AAAA"}`

// secondPages are those of second factors: in the profile, at a login, and of a user.
func (f fakes) secondPages() []page {
	wrong := map[string]string{login.FieldCode: f.T("second.error.code")}
	password := map[string]string{second.FieldPassword: f.T("user.error.old")}
	code := second.FormPage{Page: f.page("/profile/second/code"), Code: f.secondCode()}
	again := code
	again.Page, again.Name, again.Errors = f.page("/profile/second/code?wrong"), f.zh("手机", "phone"), map[string]string{second.FieldCode: wrong[login.FieldCode], second.FieldPassword: password[second.FieldPassword]}
	passkey := second.FormPage{Page: f.page("/profile/second/passkey"), Passkey: second.Passkey{Options: question, Token: "x"}}
	step := func(path string) login.StepPage {
		return login.StepPage{Page: layout.Page{Printer: f.Printer, Theme: f.theme, Path: path}, Name: "jonas", Next: "/jobs"}
	}
	refused, sealed := step("/login/second?refused"), step("/login/second?sealed")
	refused.Errors = wrong
	sealed.Problem = f.T("second.error.sealed")
	return []page{
		{"second", "/profile/second", second.Show(f.secondFactors())},
		{"second-none", "/profile/second?none", second.Show(second.Page{Page: f.page("/profile/second")})},
		{"second-provider", "/profile/second?provider", second.Show(second.Page{Page: f.page("/profile/second"), Provider: "company"})},
		{"second-code", "/profile/second/code", second.CodeForm(code)},
		{"second-code-wrong", "/profile/second/code?wrong", second.CodeForm(again)},
		{"second-passkey", "/profile/second/passkey", second.PasskeyForm(passkey)},
		{"second-passkey-address", "/profile/second/passkey?address", second.PasskeyForm(second.FormPage{Page: f.page("/profile/second/passkey")})},
		{"second-recovery", "/profile/second/recovery", second.AskRecovery(second.AskPage{Page: f.page("/profile/second/recovery"), Action: "/profile/second/recovery"})},
		{"second-codes", "/profile/second/codes", second.Codes(second.CodesPage{Page: f.page("/profile/second"), Codes: recoveryCodes()})},
		{"second-remove", "/profile/second/1/remove", second.AskRemove(second.AskPage{Page: f.page("/profile/second/1/remove"), Action: "/profile/second/1/remove", Error: password[second.FieldPassword]})},
		{"user-second", "/users/3/second", users.ResetSecond(users.AskPage{Page: f.page("/users/3/second"), ID: 3, Name: "jonas"})},
		{"profile-provider", "/profile?provider", users.Profile(f.profileOfProvider())},
		{"login-second", "/login/second", login.Second(login.SecondPage{StepPage: step("/login/second"), Codes: true, Passkey: question})},
		{"login-second-elsewhere", "/login/second?elsewhere", login.Second(login.SecondPage{StepPage: step("/login/second"), Codes: true, Elsewhere: "jobs.example.com"})},
		{"login-second-refused", "/login/second?refused", login.Second(login.SecondPage{StepPage: refused, Codes: true})},
		{"login-second-sealed", "/login/second?sealed", login.Second(login.SecondPage{StepPage: sealed, Codes: true})},
		{"login-setup", "/login/setup", login.Setup(login.SetupPage{StepPage: step("/login/setup"), Code: f.secondCode(), Passkey: second.Passkey{Options: question, Token: "x"}})},
		{"login-codes", "/login/setup?codes", login.Codes(login.CodesPage{StepPage: step("/login/setup"), Codes: recoveryCodes()})},
		{"executors-known-token", "/executors?known", f.knownToken()},
	}
}

// knownToken is the banner that every page has while the common token is one that everybody knows.
func (f fakes) knownToken() templ.Component {
	p := f.groups()
	p.Alerts = []layout.Alert{{Text: f.T("alert.token.known"), URL: "/executors/token", URLText: f.T("alert.token.way")},
		{Text: f.T("alert.mail", "Count", 1204, "N", "1,204"), URL: "/alarms", URLText: f.T("alert.mail.way"), Mild: true}}
	return groups.List(p)
}

func (f fakes) secondFactors() second.Page {
	return second.Page{Page: f.page("/profile/second"), CodesLeft: 7, MayPasskey: true, Factors: []second.Factor{
		{ID: 1, Kind: "totp", Name: f.zh("手机上的身份验证器", "Authenticator on my phone"), Made: f.at(-40 * 24 * time.Hour), Used: f.at(-3 * time.Hour)},
		{ID: 2, Kind: "passkey", Made: f.at(-2 * time.Hour)},
	}}
}

func (f fakes) profileOfProvider() users.ProfilePage {
	p := f.profile()
	p.Provider, p.SecondAt, p.Errors = "company", "company", nil
	return p
}

// secondCode is a secret with a picture that looks like its QR code and is none.
func (f fakes) secondCode() second.Code {
	const size = 45
	var path strings.Builder
	noise := uint32(1)
	for y := 4; y < size-4; y++ {
		for x := 4; x < size-4; x++ {
			if noise = noise*1664525 + 1013904223; noise>>31 == 1 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	return second.Code{Secret: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", URL: "otpauth://totp/x", Token: "x", Picture: second.Picture{Size: size, Path: path.String()}}
}

func recoveryCodes() []string {
	var codes []string
	for _, word := range []string{"abcd", "bcde", "cdef", "defg", "efgh", "fghi", "ghij", "hijk", "ijkl", "jklm"} {
		codes = append(codes, word+"-2345-"+word+"-6722")
	}
	return codes
}
