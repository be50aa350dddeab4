package pull

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// codeBytes is how much of its HMAC an id has.
const codeBytes = 16

// newID names a call: which admin makes it, which of its calls it is, until when somebody waits for the answer, and a code that only an admin
// can make, for the one executor. So any admin knows an answer that nobody has asked for, without asking anybody. Names are in the order of
// the admin's calls.
func (m *Mailbox) newID(to box, expires time.Time) string {
	id := fmt.Sprintf("%s.%012x.%s", m.name, m.last.Add(1), strconv.FormatInt(expires.UnixMilli(), 36))
	return id + "." + m.code(id, to)
}

func (m *Mailbox) code(id string, to box) string {
	h := hmac.New(sha256.New, m.cfg.Key)
	for _, part := range []string{id, to.app, to.address} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:codeBytes])
}

// readID says who made a call, and until when it is waited for. ok is false when no admin has made it for this executor.
func (m *Mailbox) readID(id string, of box) (asker string, expires time.Time, ok bool) {
	end := strings.LastIndexByte(id, '.')
	if end < 0 || !hmac.Equal([]byte(id[end+1:]), []byte(m.code(id[:end], of))) {
		return "", time.Time{}, false
	}
	parts := strings.Split(id[:end], ".")
	if len(parts) != 3 {
		return "", time.Time{}, false
	}
	at, err := strconv.ParseInt(parts[2], 36, 64)
	return parts[0], time.UnixMilli(at), err == nil
}
