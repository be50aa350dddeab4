package directory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Identity is somebody whom a directory vouches for.
type Identity struct {
	Provider string // its name in the file
	Key      string // names the person for ever, whatever they are called: 64 hexadecimal digits
	ID       string // what a directory calls them for ever, by which it is asked again ([LDAP.Again]); empty at a provider
	Name     string
	// In says that a rule lets them in, with what Grant says.
	In    bool
	Grant Grant
	// Weak says that an ID token does not tell of the second factor that the file asks its provider for.
	Weak bool
}

// keyOf is the key of whom an authority calls by an identifier.
func keyOf(kind, authority, id string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d:%s\n%s", kind, len(authority), authority, id))
	return hex.EncodeToString(sum[:])
}

// maxName is what the column of a user's name holds.
const maxName = 50

// cleanName is a name as it can stand in lists and logs; false if it cannot.
func cleanName(name string) (string, bool) {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > maxName || !utf8.ValidString(name) {
		return name, false
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-@+' ", r) {
			return name, false
		}
	}
	return name, true
}

// claims are what a directory says of somebody: texts, numbers, booleans, lists and objects, as JSON has them.
type claims map[string]any

// texts are the values of a claim. A name with dots is looked for as it is first, and then within.
func (c claims) texts(name string) []string {
	if v, ok := c[name]; ok {
		return textsOf(v)
	}
	outer, inner, found := strings.Cut(name, ".")
	if !found {
		return nil
	}
	within, _ := c[outer].(map[string]any)
	return claims(within).texts(inner)
}

// text is the value of a claim that has one.
func (c claims) text(name string) string {
	if list := c.texts(name); len(list) == 1 {
		return list[0]
	}
	return ""
}

func textsOf(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case bool, json.Number:
		return []string{fmt.Sprint(v)}
	case []string:
		return v
	case []any:
		for _, one := range v {
			if _, nested := one.([]any); !nested {
				list = append(list, textsOf(one)...)
			}
		}
	}
	return list
}
