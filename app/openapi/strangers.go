package openapi

import (
	"io"
	"net"
	"net/http"
	"unicode/utf8"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// maxOldBody is how much is read of a call of the old protocol: a registration has 600 bytes.
const maxOldBody = 4 << 10

// msgTooOld is what an executor of 2.1 or older prints in its log, among an error about the form of the answer.
const msgTooOld = "This executor is of XXL-JOB 2.1 or older. Upgrade it to 2.2.0 or later."

// nameless answers a call without a method. Executors of 2.0 and 2.1.0 send all theirs there, in another protocol.
func (a *API) nameless(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxOldBody))
	if err != nil {
		return refusal(msgNoName)
	}
	from, old := wire.DecodeOldCall(body)
	if !old {
		return refusal(msgNoName)
	}
	a.Engine.Refused(scheduler.Caller{Address: host(r), AppName: shownName(from.RegistryKey)}, scheduler.RefusedTooOld, nil)
	w.Header().Set("Connection", "close") // its client keeps what it does not understand open for long
	return refusal(msgTooOld)
}

// refused notes a call with a wrong token: who it says it is, and what it wanted to report. All of it is a stranger's word,
// which is shown and decides nothing.
func (a *API) refused(name string, body []byte, who caller) {
	by := scheduler.Caller{Address: who.address, AppName: shownName(who.appName)}
	var runs []int64
	switch name {
	case "registry", "registryRemove", "pull":
		if req, err := wire.DecodeRegistry(body); err == nil && by.AppName == "" {
			by.AppName = shownName(req.RegistryKey)
		}
	case "callback":
		callbacks, err := wire.DecodeCallbacks(body)
		for i := 0; err == nil && i < len(callbacks); i++ {
			runs = append(runs, callbacks[i].LogID)
		}
	}
	a.Engine.Refused(by, scheduler.RefusedToken, runs)
}

// shownName is an app name that a stranger gave, if it can be one.
func shownName(name string) string {
	if !plain(name) || utf8.RuneCountInString(name) > 64 {
		return ""
	}
	return name
}

// host is where a request came from, without the port.
func host(r *http.Request) string {
	if h, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return h
	}
	return r.RemoteAddr
}
