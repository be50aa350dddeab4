package directory

import (
	"context"
	"errors"

	"github.com/coreos/go-oidc/v3/oidc"
)

// keySet verifies the signature of one token with a provider's keys, and keeps why there were none: what the library makes of that is a
// sentence, as it is where a signature is wrong.
type keySet struct {
	remote  oidc.KeySet
	missing error // the keys could not be fetched
}

// VerifySignature implements [oidc.KeySet].
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.remote.VerifySignature(ctx, token)
	// A signature that none of the keys made is an error of the set's own. Only what kept it from fetching them has a cause.
	if errors.Unwrap(err) != nil {
		k.missing = err
	}
	return payload, err
}

// isNoSignature is true for algorithms that a provider may name and with which it shows nothing here: none, and those whose key is the
// client's secret.
func isNoSignature(algorithm string) bool {
	switch algorithm {
	case oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA:
		return false
	}
	return true
}
