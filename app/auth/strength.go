package auth

import (
	"errors"
	"strings"

	"github.com/punctual-job/punctual/app/auth/zxcvbn"
)

// What can be wrong with a password that somebody chooses.
var (
	ErrPasswordShort = errors.New("the password is too short")
	ErrPasswordLong  = errors.New("the password is too long")
	// ErrPasswordWeak means that a program that knows common passwords, names, dates and keyboard rows finds it soon.
	ErrPasswordWeak = errors.New("the password is easy to guess")
)

const (
	// MinPasswordBytes is the least length of a password that somebody chooses.
	MinPasswordBytes = 8
	// MaxPasswordBytes bounds what is hashed; nobody types more.
	MaxPasswordBytes = 1000

	// leastScore of zxcvbn is 2 of 4: more than a hundred million guesses. Whoever guesses here gets a few thousand a day, and
	// who has the database needs some 40 ms for each. A hundred common passwords, "Huawei@123" and "P@ssw0rd2024" are below it;
	// eight random letters or three unrelated words are not.
	leastScore = 2
	// judgedBytes bounds what is looked at: the time it takes grows with the cube of the length, 100 characters take 40 ms.
	judgedBytes = 60
)

// CheckPassword judges a password that somebody chooses. There is no rule about which characters it has. about are words that
// are easy to guess for this user, such as the name.
func CheckPassword(password string, about ...string) error {
	switch {
	case len(password) < MinPasswordBytes:
		return ErrPasswordShort
	case len(password) > MaxPasswordBytes:
		return ErrPasswordLong
	}
	judged := strings.ToValidUTF8(password[:min(len(password), judgedBytes)], "")
	if zxcvbn.Score(judged, append(about, "punctual", "xxl", "job")) < leastScore {
		return ErrPasswordWeak
	}
	return nil
}
