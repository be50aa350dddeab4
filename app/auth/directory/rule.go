package directory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/punctual-job/punctual/app/auth"
)

// The roles that a rule can give.
const (
	RoleAdmin   = "admin"
	RoleAuditor = "auditor"
	RoleUser    = "user"
)

// Everything stands for all executors where a rule names one.
const Everything = "*"

// Rule lets people in of whom the directory says something, and says what they may do. All rules that hold are added up.
type Rule struct {
	// Claim is what is looked at: a claim of a provider, with dots for a claim within another; an attribute of a directory, or
	// "groups" for the names of the groups it was searched for. Empty: the rule holds for everybody.
	Claim string `yaml:"claim"`
	// Value is what it must be, or have among others; one of several is enough. "*" is anything but nothing.
	Value  Values              `yaml:"value"`
	Role   string              `yaml:"role"`   // RoleAdmin, RoleAuditor, or RoleUser, the default
	Rights map[string][]string `yaml:"rights"` // by app name of an executor, or [Everything]
	Teams  []string            `yaml:"teams"`  // by name, that they are put into
}

func checkRules(rules []Rule) error {
	if len(rules) == 0 {
		return errors.New("rules are missing: nobody could sign in")
	}
	for i, r := range rules {
		if err := r.check(); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

func (r Rule) check() error {
	switch {
	case r.Role != "" && r.Role != RoleAdmin && r.Role != RoleAuditor && r.Role != RoleUser:
		return fmt.Errorf("role %q must be %s, %s or %s", r.Role, RoleAdmin, RoleAuditor, RoleUser)
	case r.Claim == "" && len(r.Value) > 0:
		return errors.New("there is a value and no claim")
	case r.Claim != "" && (len(r.Value) == 0 || slices.Contains(r.Value, "")):
		return errors.New("value is missing")
	case r.Claim == "" && r.Role == RoleAdmin:
		return errors.New("everybody would be an administrator: say for which claim and value")
	case r.Claim == "" && r.Role == RoleAuditor:
		return errors.New("everybody would be an auditor: say for which claim and value")
	}
	if slices.Contains(r.Teams, "") {
		return errors.New("a team has no name")
	}
	for executor, names := range r.Rights {
		for _, name := range names {
			if auth.RightNamed(name) == 0 {
				return fmt.Errorf("rights: %s: there is no right %q", executor, name)
			}
		}
	}
	return nil
}

// Grant is what somebody may do by the rules.
type Grant struct {
	Admin   bool
	Auditor bool
	Rights  map[string]auth.Rights // by app name, or [Everything]
	Teams   []string               // by name, each once
}

// decide adds up the rules that hold; false if there is none.
func decide(rules []Rule, c claims) (g Grant, in bool) {
	g.Rights = make(map[string]auth.Rights)
	for _, r := range rules {
		if !r.holds(c) {
			continue
		}
		in = true
		g.Admin = g.Admin || r.Role == RoleAdmin
		g.Auditor = g.Auditor || r.Role == RoleAuditor
		for _, team := range r.Teams {
			if !slices.Contains(g.Teams, team) {
				g.Teams = append(g.Teams, team)
			}
		}
		for executor, names := range r.Rights {
			for _, name := range names {
				g.Rights[executor] |= auth.RightNamed(name)
			}
		}
	}
	return g, in
}

func (r Rule) holds(c claims) bool {
	if r.Claim == "" {
		return true
	}
	for _, has := range c.texts(r.Claim) {
		if has != "" && (slices.Contains(r.Value, has) || slices.Contains(r.Value, "*")) {
			return true
		}
	}
	return false
}
