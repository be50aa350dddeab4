package auth

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
)

func TestAPasswordThatIsEasyToGuessIsRefused(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]error{
		"short": ErrPasswordShort, strings.Repeat("x", MaxPasswordBytes+1): ErrPasswordLong,
		"password": ErrPasswordWeak, "12345678": ErrPasswordWeak, "P@ssw0rd2024": ErrPasswordWeak, "1qaz2wsx": ErrPasswordWeak, "Huawei@123": ErrPasswordWeak,
		"admin123": ErrPasswordWeak, "woaini1314": ErrPasswordWeak, "aaaaaaaaaaaa": ErrPasswordWeak, "punctual2026": ErrPasswordWeak, "xxl-job-2024": ErrPasswordWeak,
		"Wolfeschlegel1": ErrPasswordWeak, // the user's name
		"kd83hf7s":       nil, "correct horse battery": nil, "北京欢迎你2008": nil, "lower-case otter lamp": nil, NewPassword(): nil,
	} {
		if err := CheckPassword(password, "wolfeschlegel"); !errors.Is(err, want) {
			t.Errorf("%.20q: %v, want %v", password, err, want)
		}
	}
}

// TestALongPasswordIsJudgedQuickly posts what takes the library minutes.
func TestALongPasswordIsJudgedQuickly(t *testing.T) {
	t.Parallel()
	passed := executortest.Watch()
	if err := CheckPassword(strings.Repeat("passwordqwerty123", 58)); err != nil && !errors.Is(err, ErrPasswordWeak) {
		t.Error(err)
	}
	if took := passed(); took > 10*time.Second {
		t.Errorf("%s", took)
	}
}
