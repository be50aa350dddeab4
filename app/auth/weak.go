package auth

import (
	"slices"
	"strings"
)

// Weakness is why the installation's common token keeps nobody out; "" if it does.
type Weakness string

const (
	WeakNone  Weakness = ""
	WeakKnown Weakness = "known" // everybody knows it or guesses it at once
	WeakEmpty Weakness = "empty" // none is asked for
)

// minToken is the least length of a token that cannot be tried out.
const minToken = 8

// commonTokens are those that XXL-JOB ships with and that guides and guesses begin with, without case and punctuation.
var commonTokens = []string{
	"defaulttoken", "xxljobtoken", "xxljobdefaulttoken", "xxljob", "xxljobadmin", "xxljobaccesstoken", "accesstoken", "jobtoken", "token123", "mytoken", "yourtoken",
	"admin123", "admin1234", "administrator", "password", "password1", "passw0rd", "changeme", "changeit", "secret123", "letmein1", "qwertyui", "qwerty123",
	"12345678", "123456789", "1234567890", "87654321", "abcd1234", "abc12345", "iloveyou", "punctual", "punctualtoken", "executor", "executortoken", "scheduler",
}

// KnownToken says whether a token is one that everybody knows or guesses at once.
func KnownToken(token string) bool {
	if len(token) < minToken || strings.Count(token, token[:1]) == len(token) {
		return true
	}
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(token))
	return slices.Contains(commonTokens, plain)
}

// Weakness says whether the common token keeps anybody out.
func (t *Tokens) Weakness() Weakness {
	switch {
	case t.open:
		return WeakEmpty
	case KnownToken(t.Common()):
		return WeakKnown
	}
	return WeakNone
}
