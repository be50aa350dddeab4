package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"aead.dev/minisign"
)

// sumsName is a file that sha256sum -c reads.
const sumsName = "SHA256SUMS"

// sums writes the checksums of everything, and signs them if there is a key.
func (d *dist) sums() error {
	entries, err := os.ReadDir(d.out)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(d.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), entry.Name())
	}
	if err := os.WriteFile(filepath.Join(d.out, sumsName), text.Bytes(), 0o644); err != nil {
		return err
	}
	if d.key == "" {
		fmt.Println("not signed: DIST_KEY names no key")
		return nil
	}
	key, err := readKey(d.key)
	if err != nil {
		return fmt.Errorf("DIST_KEY: %w", err)
	}
	message := minisign.NewReader(&text) // which makes the kind of signature that minisign makes today
	if _, err := io.Copy(io.Discard, message); err != nil {
		return err
	}
	signature := message.SignWithComments(key, fmt.Sprintf("punctual %s, commit %s", d.source.version, d.source.commit), "signature of "+sumsName)
	return os.WriteFile(filepath.Join(d.out, sumsName+".minisig"), signature, 0o644)
}

// readKey reads a key as minisign makes them, with a password or without (minisign -G -W).
func readKey(path string) (key minisign.PrivateKey, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return key, err
	}
	if minisign.IsEncrypted(text) {
		return minisign.DecryptKey(os.Getenv("DIST_KEY_PASSWORD"), text)
	}
	err = key.UnmarshalText(text)
	return key, err
}
