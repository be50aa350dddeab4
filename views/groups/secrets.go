package groups

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
)

// SecretsPage is the secrets of a group ([Secrets]). It comes back with 422 and Errors.
type SecretsPage struct {
	layout.Page
	ID     int64
	Title  string
	Rows   []SecretRow
	CanSet bool // otherwise the page only says which there are
	NoKey  bool // the installation keeps none
	Name   string
	Errors map[string]string
}

// SecretRow is one secret, of which nobody sees the value.
type SecretRow struct {
	Name    string
	By      string
	Updated format.Time
}

// The names of the fields.
const (
	FieldSecretName  = "name"
	FieldSecretValue = "value"
)

// reference is how a job names a secret.
func reference(name string) string { return "${{ secrets." + name + " }}" }

// SecretDeletePage asks before a secret is deleted ([SecretDelete]; fragment ui.FragmentDialog).
type SecretDeletePage struct {
	layout.Page
	ID   int64
	Name string
}
