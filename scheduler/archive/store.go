package archive

import (
	"context"
	"errors"
)

// Store is where objects are kept. Names are made here, and are relative paths of letters, digits, "-" and "/".
type Store interface {
	// Name is what kind of store it is, as rows of objects have it.
	Name() string
	// Put writes an object. One that is there already is replaced.
	Put(ctx context.Context, object Object, data []byte) error
	// Get reads a part of an object; [ErrNoObject] where there is no such.
	Get(ctx context.Context, object Object, pos, size int64) ([]byte, error)
	// Delete deletes an object. It is no error if there is none; [ErrHeld] where the store answers that this one stays.
	Delete(ctx context.Context, object Object) error
	// Check tries that objects can be written, read and deleted.
	Check(ctx context.Context) error
}

// Object is one thing that a store keeps.
type Object struct {
	ID   int64
	Name string
}

var ErrNoObject = errors.New("there is no such object in the store")

// ErrHeld is in what a store answers that works and does not let an object be deleted: one that is held or locked, or a right that is missing.
var ErrHeld = errors.New("the store does not let it be deleted")

// errShort says that an object ends before the part that was asked for.
var errShort = errors.New("the object in the store is shorter than it was")

// probe is what [Store.Check] writes.
var probe = []byte("written by punctual to see whether it can\n")

// check tries a store with an object of a name that no other has.
func check(ctx context.Context, s Store, object Object) error {
	if err := s.Put(ctx, object, probe); err != nil {
		return err
	}
	got, err := s.Get(ctx, object, 0, int64(len(probe)))
	if err == nil && string(got) != string(probe) {
		err = errShort
	}
	return errors.Join(err, s.Delete(ctx, object))
}
