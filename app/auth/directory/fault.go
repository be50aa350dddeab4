package directory

import "fmt"

// Reason is why somebody could not sign in. The texts are keys of messages behind "signin.error.".
type Reason string

const (
	Down    Reason = "down"    // the provider or the directory cannot be asked
	Stale   Reason = "stale"   // the sign-in was begun too long ago, in another browser, or is used a second time
	Denied  Reason = "denied"  // the provider says no
	Untrue  Reason = "untrue"  // what the provider answered is not believed
	Unruled Reason = "unruled" // no rule lets them in
	Weak    Reason = "weak"    // the provider did not ask for the second factor that is required here
	BadName Reason = "badname" // they have a name that cannot be one here
	Taken   Reason = "taken"   // somebody else has their name here
)

// Error is a sign-in that failed.
type Error struct {
	Reason   Reason
	Provider string // its name in the file
	Name     string // of the person, where it is known
	Err      error  // for the log
}

// Error implements error, for logs.
func (e *Error) Error() string {
	text := fmt.Sprintf("sign-in through %s: %s", e.Provider, e.Reason)
	if e.Name != "" {
		text += fmt.Sprintf(" (%q)", e.Name)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
