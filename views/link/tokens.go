package link

import "net/url"

// Routes of API tokens and service accounts.
const (
	TokensPath        = "/tokens"
	DevicePath        = "/device" // short, because people type it
	TokensAll         = "/tokens?of=all"
	ServiceAccounts   = "/tokens/accounts"
	ServiceAccountNew = "/tokens/accounts/new"
)

// TokenNew is the form of a new token: of the service account with this id, or with "" one's own.
func TokenNew(owner string) string {
	if owner == "" {
		return TokensPath + "/new"
	}
	return TokensPath + "/new?owner=" + owner
}

// TokenRevoke asks (GET) and revokes (POST), and leads back to one's own or to all.
func TokenRevoke(tokenID int64, all bool) string {
	to := TokensPath + "/" + id(tokenID) + "/revoke"
	if all {
		to += "?of=all"
	}
	return to
}

// ExecutorSecrets are the secrets of a group (GET), and where one is set (POST).
func ExecutorSecrets(groupID int64) string { return Executor(groupID) + "/secrets" }

// ExecutorSecretDelete asks (GET) and forgets a secret (POST).
func ExecutorSecretDelete(groupID int64, name string) string {
	return ExecutorSecrets(groupID) + "/delete?name=" + url.QueryEscape(name)
}
