package login

// codeLabel names the field for a code: of an app, or for who has none a recovery code.
func (p SecondPage) codeLabel() string {
	if p.Codes {
		return p.T("login.second.code")
	}
	return p.T("login.second.recovery")
}
