package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
)

// secretJSON is a secret as it is read: without its value, which nobody is told again.
type secretJSON struct {
	Name      string     `json:"name" doc:"Jobs of the group name it as secrets.NAME."`
	ChangedAt *time.Time `json:"changed_at"`
	ChangedBy string     `json:"changed_by"`
}

// newSecret is a secret as somebody sets it.
type newSecret struct {
	Name  string `json:"name" minLength:"1" maxLength:"64" doc:"Letters, digits and underscores; small letters become large ones."`
	Value string `json:"value" minLength:"1" maxLength:"16384" doc:"It goes in and never comes out."`
}

// SecretOf names a secret of a group.
type SecretOf struct {
	GroupID
	Name string `path:"name" maxLength:"64" doc:"The name of the secret."`
}

func (a *API) secrets() {
	const tag = "secrets"
	add(a, op{method: http.MethodGet, path: "/groups/{id}/secrets", id: "listSecrets", tag: tag, summary: "List the secrets of a group, without their values"},
		func(ctx context.Context, p auth.Principal, in *GroupID) (*listOf[secretJSON], error) {
			rows, err := a.Manage.Secrets.List(ctx, p, in.ID)
			return listed(rows, err, func(s db.ListSecretsRow) secretJSON {
				return secretJSON{Name: s.Name, ChangedAt: momentOf(s.UpdatedAt), ChangedBy: s.UpdatedBy}
			})
		})
	add(a, op{method: http.MethodPost, path: "/groups/{id}/secrets", id: "setSecret", tag: tag, summary: "Set a secret of a group", status: http.StatusNoContent, names: map[string]string{manage.SecretName: "name", manage.SecretValue: "value"},
		text: "It takes the place of the one of that name, so the same request does the same again. It needs the rights to edit and to scripts, and an installation with a secret key."},
		func(ctx context.Context, p auth.Principal, in *struct {
			GroupID
			Body newSecret
		}) (*struct{}, error) {
			return nil, a.Manage.Secrets.Set(ctx, p, in.ID, in.Body.Name, in.Body.Value)
		})
	add(a, op{method: http.MethodDelete, path: "/groups/{id}/secrets/{name}", id: "deleteSecret", tag: tag, summary: "Delete a secret of a group", text: "Runs that name it are not sent from then on.", status: http.StatusNoContent},
		func(ctx context.Context, p auth.Principal, in *SecretOf) (*struct{}, error) {
			return nil, a.Manage.Secrets.Delete(ctx, p, in.ID, in.Name)
		})
}
