package auth

import "time"

// Policy is what administrators decided about signing in.
type Policy struct {
	Idle     time.Duration // a session that nobody uses ends
	Absolute time.Duration // every session that is not remembered ends
	Remember time.Duration // the life of a session whose user asked to stay logged in; 0: nobody may
	// ChangeGiven asks for another password at the first login with one that somebody else gave.
	ChangeGiven bool
	// SecondFactor says who must have one; whoever has one is asked for it in any case.
	SecondFactor Whom
}

// Whom says for which users something holds.
type Whom string

const (
	Nobody         Whom = "nobody"
	Administrators Whom = "admins"
	Everybody      Whom = "all"
)

// NeedsSecond says whether a user of a role must show a second factor.
func (p Policy) NeedsSecond(role int64) bool {
	return p.SecondFactor == Everybody || p.SecondFactor == Administrators && role == RoleAdmin
}

// end is when a session ends (epoch ms) that began and was used at such times.
func (p Policy) end(created, seen int64, remembered bool) int64 {
	if remembered && p.Remember > 0 {
		return created + p.Remember.Milliseconds()
	}
	return min(seen+p.Idle.Milliseconds(), created+p.Absolute.Milliseconds())
}
