package auth

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"github.com/punctual-job/punctual/db"
)

// Cost is what a password check takes. The values stand in every hash, so that raising them leaves the old hashes readable.
type Cost struct{ MemoryKiB, Passes uint32 }

// standard is OWASP's floor for one lane, and takes some 40 ms here.
var standard = Cost{MemoryKiB: 19 * 1024, Passes: 2}

const (
	argonLanes     = 1
	argonKeyBytes  = 32
	argonSaltBytes = 16
)

// Passwords hashes and checks passwords, a few at a time: each costs memory, and anybody may ask.
type Passwords struct {
	line  *line
	cost  Cost
	dummy string // what the password of a name that does not exist is checked against
	kept  KeptForm
}

// KeptForm says in which of XXL-JOB's forms passwords are kept, because its admin may be put back on this database at any moment;
// "" for our own.
type KeptForm func(ctx context.Context) (db.PasswordForm, error)

// Keep lets passwords be hashed in the form that an old admin reads, as long as there is one. It is called before they are used.
func (p *Passwords) Keep(form KeptForm) *Passwords {
	p.kept = form
	return p
}

// keptForm is "" where passwords are kept in our form.
func (p *Passwords) keptForm(ctx context.Context) (db.PasswordForm, error) {
	if p.kept == nil {
		return "", nil
	}
	return p.kept(ctx)
}

// maxWaiting is how many strangers may wait for their password to be checked: some seconds' worth. Who comes from where they have
// logged in before goes first.
const maxWaiting = 100

// NewPasswords allows a number of hashes at a time, at least one.
func NewPasswords(atATime int) *Passwords {
	return (&Passwords{line: newLine(atATime, maxWaiting)}).At(standard)
}

// At sets what hashes cost from now on; the zero Cost leaves it as it is. It is called before they are used: by tests, which log in
// more often than anybody.
func (p *Passwords) At(cost Cost) *Passwords {
	if cost == (Cost{}) {
		return p
	}
	p.cost = cost
	// A key that no password was made into costs nothing to make, and as much as any to check against.
	p.dummy = cost.stored(random(argonSaltBytes), random(argonKeyBytes))
	return p
}

// Hash makes the text to store: argon2id, or while there is a way back to XXL-JOB ([Passwords.Keep]) what its admin reads.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	if err := p.line.enter(ctx, true); err != nil {
		return "", err
	}
	defer p.line.leave()
	form, err := p.keptForm(ctx)
	if err != nil {
		return "", err
	}
	switch form {
	case db.PasswordMD5:
		sum := md5.Sum([]byte(password))
		return hex.EncodeToString(sum[:]), nil
	case db.PasswordSHA256:
		sum := sha256.Sum256([]byte(password))
		return hex.EncodeToString(sum[:]), nil
	}
	return p.cost.hash(password), nil
}

// check says whether a password fits a stored hash, and whether the hash is of an old kind that is to be replaced:
// XXL-JOB's MD5 (up to 3.1) or SHA-256 (since 3.2), both without salt, or our own with other costs. Who is
// known does not wait for strangers; these are errBusy when too many of them wait.
func (p *Passwords) check(ctx context.Context, stored, password string, known bool) (ok, old bool, err error) {
	if err := p.line.enter(ctx, known); err != nil {
		return false, false, err
	}
	defer p.line.leave()
	if len(password) > MaxPasswordBytes {
		return false, false, nil
	}
	if strings.HasPrefix(stored, "$argon2id$") {
		return p.checkArgon(stored, password)
	}
	var sum []byte
	switch len(stored) {
	case 2 * md5.Size:
		s := md5.Sum([]byte(password))
		sum = s[:]
	case 2 * sha256.Size:
		s := sha256.Sum256([]byte(password))
		sum = s[:]
	default:
		return false, false, nil
	}
	ok = subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum)), []byte(strings.ToLower(stored))) == 1
	return ok, ok, nil
}

// waste takes as long as a check, for a name that does not exist: the time of an answer must not tell which names do.
func (p *Passwords) waste(ctx context.Context, password string, known bool) error {
	_, _, err := p.check(ctx, p.dummy, password, known)
	return err
}

func (c Cost) hash(password string) string {
	salt := random(argonSaltBytes)
	return c.stored(salt, argon2.IDKey([]byte(password), salt, c.Passes, c.MemoryKiB, argonLanes, argonKeyBytes))
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: the program ends when there is no randomness
	return b
}

// stored is the text of a hash.
func (c Cost) stored(salt, key []byte) string {
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.MemoryKiB, c.Passes, argonLanes,
		enc.EncodeToString(salt), enc.EncodeToString(key))
}

func (p *Passwords) checkArgon(stored, password string) (ok, old bool, err error) {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 {
		return false, false, nil
	}
	var version int
	var memory, passes uint32
	var lanes uint8
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, false, nil
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil {
		return false, false, nil
	}
	// A hash written into the table by hand must not be able to stop the program.
	if memory < 8 || memory > 1<<20 || passes < 1 || passes > 100 || lanes < 1 || lanes > 16 {
		return false, false, nil
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(want) < 16 || len(want) > 128 {
		return false, false, nil
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, lanes, uint32(len(want)))
	ok = subtle.ConstantTimeCompare(got, want) == 1
	old = ok && (p.cost != Cost{memory, passes} || lanes != argonLanes)
	return ok, old, nil
}

// NewPassword makes a random password that can be read aloud and typed: 26 letters and digits, 130 bits.
func NewPassword() string { return strings.ToLower(rand.Text()) }
