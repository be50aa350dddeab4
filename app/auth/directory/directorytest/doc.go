// Package directorytest lends tests somebody to ask who people are: an OpenID Connect provider in this process ([NewOIDC]), which
// can also be made to lie, and Debian's slapd ([NewLDAP]).
package directorytest
