package auth

import (
	"errors"
	"net/http"
	"strings"
)

// The cookies in which programs that were written for XXL-JOB's console keep their session (docs/compat.md §5.2). Here they
// hold the random id of a session and nothing about the user.
const (
	FormerCookie  = "XXL_JOB_LOGIN_IDENTITY" // to 3.1.1
	FormerCookie2 = "xxl_job_login_token"    // since 3.2.0
)

// openFormer is start with one of the former cookies.
func (s *Sessions) openFormer(w http.ResponseWriter, r *http.Request, in SignIn, cookie string) error {
	for _, id := range formerIDs(r, cookie) {
		if err := s.endID(r.Context(), id); err != nil {
			return err
		}
	}
	id, err := s.begin(r, in)
	if err != nil {
		return err
	}
	c := formerCookie(r, cookie, id)
	if life := s.policy().Remember; in.Remember && life > 0 {
		c.MaxAge = int(life.Seconds())
	}
	http.SetCookie(w, c)
	return nil
}

// FindFormer says who makes a request by a former cookie, or else by the console's.
func (s *Sessions) FindFormer(r *http.Request) (Principal, error) {
	for _, cookie := range []string{FormerCookie, FormerCookie2} {
		for _, id := range formerIDs(r, cookie) {
			if p, err := s.find(r.Context(), id, true); !errors.Is(err, ErrNoSession) {
				return p, err
			}
		}
	}
	return s.Find(r)
}

// CloseFormer ends the sessions of a request and takes its cookies back.
func (s *Sessions) CloseFormer(w http.ResponseWriter, r *http.Request) error {
	for _, cookie := range []string{FormerCookie, FormerCookie2} {
		for _, id := range formerIDs(r, cookie) {
			if err := s.endID(r.Context(), id); err != nil {
				return err
			}
			c := formerCookie(r, cookie, "")
			c.MaxAge = -1
			http.SetCookie(w, c)
		}
	}
	if s.id(r) == "" {
		return nil
	}
	return s.Close(w, r)
}

// formerIDs are the session ids that a request's former cookies hold. What is none, such as the cookie of an XXL-JOB on the
// same host, is passed over without asking the database.
func formerIDs(r *http.Request, cookie string) (ids []string) {
	for _, c := range r.CookiesNamed(cookie) {
		if len(c.Value) == idLength && strings.Trim(c.Value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" {
			ids = append(ids, c.Value)
		}
	}
	return ids[:min(len(ids), 2)] // one by each of two hosts' paths is the most that happens
}

func formerCookie(r *http.Request, name, value string) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: IsHTTPS(r)}
}
