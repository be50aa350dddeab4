package db

import (
	"context"
	"database/sql"
	"errors"
)

// together is a transaction that a context carries.
type together struct {
	pool  *Pool
	tx    *sql.Tx
	after []func(context.Context)
}

type togetherKey struct{}

// in is the transaction of this pool that a context carries; nil: none.
func (p *Pool) in(ctx context.Context) *together {
	if t, ok := ctx.Value(togetherKey{}).(*together); ok && t.pool == p {
		return t
	}
	return nil
}

// Together runs do with a context in which each query of the pool, and each [Pool.Tx], is part of one transaction, so that several use
// cases are done as a whole or not at all. The rows that are changed stay locked until its end. do is called again, as by Tx, and also
// when it returns [ErrMoved]; it must not use its context in several goroutines, nor after it has returned. It sees what others commit
// meanwhile, or one that was moved would stay so for it.
func (p *Pool) Together(ctx context.Context, do func(context.Context) error) error {
	if p.in(ctx) != nil {
		return do(ctx)
	}
	var opts *sql.TxOptions
	if p.dialect == MySQL {
		opts = &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	var t *together
	err := p.tries(ctx, func() (again bool, err error) {
		again, err = p.tryTx(ctx, opts, func(tx *sql.Tx) error {
			t = &together{pool: p, tx: tx}
			return do(context.WithValue(ctx, togetherKey{}, t))
		})
		return again || errors.Is(err, ErrMoved), err
	})
	if err != nil {
		return err
	}
	for _, tell := range t.after {
		tell(ctx)
	}
	return nil
}

// InTurn is [Pool.Together] for a change that goes by what it reads first: those of a kind are made one after another, on whichever admin,
// so that none is made of what another has changed meanwhile. MySQL would let each of them read what there was before.
func (p *Pool) InTurn(ctx context.Context, kind string, do func(context.Context, *sql.Tx) error) error {
	return p.Together(ctx, func(ctx context.Context) error {
		tx := p.in(ctx).tx
		if err := New().TakeTurn(ctx, tx, kind); err != nil {
			return err
		}
		return do(ctx, tx)
	})
}

// Joined reports whether a context carries a transaction of the pool. What fails in it cannot be tried again in it.
func (p *Pool) Joined(ctx context.Context) bool { return p.in(ctx) != nil }

// AfterCommit does something when the transaction that the context carries is committed, and never if it is not; at once without one. It is
// for telling others what has changed, with a context that carries none.
func (p *Pool) AfterCommit(ctx context.Context, tell func(context.Context)) {
	if t := p.in(ctx); t != nil {
		t.after = append(t.after, tell)
		return
	}
	tell(ctx)
}

// ExecContext is sql.DB's, in the transaction that the context carries, as are the other three.
func (p *Pool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t := p.in(ctx); t != nil {
		return t.tx.ExecContext(ctx, query, args...)
	}
	return p.DB.ExecContext(ctx, query, args...)
}

// PrepareContext is as ExecContext.
func (p *Pool) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if t := p.in(ctx); t != nil {
		return t.tx.PrepareContext(ctx, query)
	}
	return p.DB.PrepareContext(ctx, query)
}

// QueryContext is as ExecContext.
func (p *Pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if t := p.in(ctx); t != nil {
		return t.tx.QueryContext(ctx, query, args...)
	}
	return p.DB.QueryContext(ctx, query, args...)
}

// QueryRowContext is as ExecContext.
func (p *Pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if t := p.in(ctx); t != nil {
		return t.tx.QueryRowContext(ctx, query, args...)
	}
	return p.DB.QueryRowContext(ctx, query, args...)
}
