package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
)

// Fault is the kind of a call's failure, for people and for programs; the words of the library stay in the error.
type Fault string

const (
	FaultRefused     Fault = "refused"     // nobody listens there
	FaultUnreachable Fault = "unreachable" // no way to the machine
	FaultHost        Fault = "host"        // the name could not be looked up
	FaultConnect     Fault = "connect"     // no connection in time
	FaultCertificate Fault = "certificate" // the peer's certificate is not to be trusted
	FaultTLS         Fault = "tls"         // the two do not agree on TLS
	FaultNotFetched  Fault = "notfetched"  // an executor that asks for its calls did not come for this one
	FaultSilent      Fault = "silent"      // an executor that asks for its calls has not asked for too long
	FaultLate        Fault = "late"        // no answer in time
	FaultBroken      Fault = "broken"      // the connection ended before the answer
	FaultStatus      Fault = "status"      // an HTTP status that the protocol does not have
	FaultProtocol    Fault = "protocol"    // an answer that is not the protocol's
	FaultTooOld      Fault = "tooold"      // an executor of XXL-JOB 2.1.2 or older, whose protocol is not spoken here
	FaultAnswer      Fault = "answer"      // an answer of the protocol that says no
	FaultStopped     Fault = "stopped"     // the caller gave up
	FaultOwn         Fault = "own"         // the caller's machine has no socket, no port or no memory left for the call, which says nothing of the executor
	FaultOther       Fault = "other"
)

// AllFaults are all faults.
var AllFaults = []Fault{
	FaultRefused, FaultUnreachable, FaultHost, FaultConnect, FaultNotFetched, FaultSilent, FaultCertificate, FaultTLS, FaultLate, FaultBroken,
	FaultStatus,
	FaultProtocol, FaultTooOld, FaultAnswer, FaultStopped, FaultOwn, FaultOther,
}

// SaysAll is true of the faults that this program finds by itself: the words of their errors are its own, and tell nothing more.
func (f Fault) SaysAll() bool { return f == FaultTooOld || f == FaultNotFetched || f == FaultSilent }

// FaultOf says what kind of failure an error of a call is; "" for nil. It reads types, never words.
func FaultOf(err error) Fault {
	if err == nil {
		return ""
	}
	if errors.Is(err, ErrTooOld) {
		return FaultTooOld
	}
	stage := StageAnswer
	if call, ok := as[*CallError](err); ok {
		stage = call.Stage
	}
	switch stage {
	case StageStatus:
		return FaultStatus
	case StageDecode:
		return FaultProtocol
	case StageDial, StageWrite, StageAnswer:
	}
	if f := faultOfTLS(err); f != "" {
		return f
	}
	if isOwn(err) { // before the name, which cannot be looked up for the same reason
		return FaultOwn
	}
	if _, ok := as[*net.DNSError](err); ok && !errors.Is(err, context.Canceled) {
		return FaultHost
	}
	if _, ok := as[*SilentError](err); ok {
		return FaultSilent
	}
	var timeout net.Error
	switch {
	case errors.Is(err, ErrNotFetched):
		return FaultNotFetched
	case errors.Is(err, syscall.ECONNREFUSED):
		return FaultRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return FaultUnreachable
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		if stage == StageDial {
			return FaultConnect
		}
		return FaultLate
	case errors.Is(err, context.Canceled):
		return FaultStopped
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed):
		return FaultBroken
	}
	return FaultOther
}

// isOwn reports whether an error says that this machine is short of something.
func isOwn(err error) bool {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) {
		return true
	}
	// All ports for the peer are taken. Of IPv6 it says as well that this machine has no address of that kind.
	op, ok := as[*net.OpError](err)
	if !ok || !errors.Is(err, syscall.EADDRNOTAVAIL) {
		return false
	}
	to, ok := op.Addr.(*net.TCPAddr)
	return ok && to.IP.To4() != nil
}

// as is errors.AsType, which came with Go 1.26.
func as[T error](err error) (T, bool) {
	var found T
	ok := errors.As(err, &found)
	return found, ok
}

func faultOfTLS(err error) Fault {
	if _, ok := as[*tls.CertificateVerificationError](err); ok {
		return FaultCertificate
	}
	if _, ok := as[x509.UnknownAuthorityError](err); ok {
		return FaultCertificate
	}
	if _, ok := as[x509.HostnameError](err); ok {
		return FaultCertificate
	}
	if _, ok := as[x509.CertificateInvalidError](err); ok {
		return FaultCertificate
	}
	if _, ok := as[tls.RecordHeaderError](err); ok {
		return FaultTLS
	}
	if _, ok := as[tls.AlertError](err); ok {
		return FaultTLS
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return FaultTLS
	}
	return ""
}
