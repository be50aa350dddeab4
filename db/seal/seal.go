// Package seal encrypts single values for the database: settings of alarm channels, access tokens, secrets of jobs. What is sealed
// says so, so that a table may hold both what was written before there was a key and what was sealed since.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// KeyBytes is the length of a key.
const KeyBytes = 32

// mark is how a sealed text begins, so that another way can follow this one.
const mark = "v1:"

// What a text may be that cannot be opened.
var (
	ErrOdd   = errors.New("it is not sealed in a way this version knows")
	ErrOther = errors.New("it was sealed with another key")
)

// Seal is the cipher of one key.
type Seal struct{ aead cipher.AEAD }

// New makes the cipher of a key.
func New(key []byte) (*Seal, error) {
	if len(key) != KeyBytes {
		return nil, fmt.Errorf("seal: the key must have %d bytes", KeyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Seal{aead: aead}, nil
}

// Close seals a value. The purpose is bound to it, so that a value of another row or table cannot be put in its place.
func (s *Seal) Close(plain []byte, purpose string) string {
	return mark + base64.StdEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, []byte(purpose)))
}

// CloseBytes is [Seal.Close] for what is no text.
func (s *Seal) CloseBytes(plain []byte, purpose string) []byte {
	return s.aead.Seal(nil, nil, plain, []byte(purpose))
}

// OpenBytes gives back what CloseBytes sealed for a purpose, or [ErrOther].
func (s *Seal) OpenBytes(data []byte, purpose string) ([]byte, error) {
	plain, err := s.aead.Open(nil, nil, data, []byte(purpose))
	if err != nil {
		return nil, ErrOther
	}
	return plain, nil
}

// Open gives back what was sealed for a purpose: [ErrOdd] and [ErrOther] say why it cannot.
func (s *Seal) Open(text, purpose string) ([]byte, error) {
	raw, ok := strings.CutPrefix(text, mark)
	if !ok {
		return nil, ErrOdd
	}
	data, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		return nil, fmt.Errorf("read what is sealed: %w", err)
	}
	plain, err := s.aead.Open(nil, nil, data, []byte(purpose))
	if err != nil {
		return nil, ErrOther
	}
	return plain, nil
}

func Sealed(text string) bool { return strings.HasPrefix(text, mark) }

// Rekey puts sealed texts, which are given by row, under another key. put replaces one, if it is still what it was, and says how many it
// replaced. What cannot be opened, or was changed meanwhile, stays as it is; left counts it.
func Rekey(from, to []byte, purpose string, texts map[int64]string, put func(row int64, was, is string) (int64, error)) (left int, err error) {
	old, err := New(from)
	if err != nil {
		return 0, err
	}
	fresh, err := New(to)
	if err != nil {
		return 0, err
	}
	for row, was := range texts {
		plain, err := old.Open(was, purpose)
		if err != nil {
			left++
			continue
		}
		n, err := put(row, was, fresh.Close(plain, purpose))
		if err != nil {
			return 0, err
		}
		if n == 0 {
			left++
		}
	}
	return left, nil
}
