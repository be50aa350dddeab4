package auth

import "testing"

func TestTokensThatEverybodyKnows(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "x", "default_token", "Default-Token", "xxl-job", "xxl_job_access_token", "12345678", "aaaaaaaaaaaa", "short", "PASSWORD", "changeme"} {
		if !KnownToken(token) {
			t.Errorf("%q passes", token)
		}
	}
	for _, token := range []string{newToken(), "test-token-of-a-test", "k7q2mzr5", "default_token_of_the_warehouse"} {
		if KnownToken(token) {
			t.Errorf("%q is taken for one that everybody knows", token)
		}
	}
}
