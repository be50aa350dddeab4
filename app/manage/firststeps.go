package manage

import (
	"context"
	"fmt"
	"slices"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
)

// What a new installation has by itself: nobody took a step with it.
const (
	SampleAppName = "punctual-sample"
	SampleAuthor  = "punctual"
)

// FirstSteps is what of its first steps an installation has taken.
type FirstSteps struct {
	Executor, Job, Alarm, People bool
	Group                        int64 // an executor group that waits for its first executor; 0: there is none
}

// Done says that there is nothing left to do.
func (s FirstSteps) Done() bool { return s.Executor && s.Job && s.Alarm && s.People }

// FirstSteps looks what has been done. They are an administrator's to take.
func (s *Groups) FirstSteps(ctx context.Context, p auth.Principal) (steps FirstSteps, err error) {
	if err := requireAdmin(p); err != nil {
		return steps, err
	}
	row, err := s.queries.GetFirstSteps(ctx, s.cfg.Pool, SampleAuthor)
	if err != nil {
		return steps, fmt.Errorf("look at the first steps: %w", db.Error(err))
	}
	steps.Job, steps.Alarm, steps.People = row.AnyJob, row.AnyChannel, row.AnyPeople
	groups, err := s.List(ctx, p)
	if err != nil {
		return steps, err
	}
	for _, g := range groups {
		switch {
		case g.AppName == SampleAppName, g.AppName == HTTPAppName:
		case g.AddressType == AddressManual && len(GroupAddressList(g)) > 0,
			slices.ContainsFunc(s.cfg.Engine.Addresses(g.ID), func(a scheduler.AddressState) bool { return a.Live }):
			steps.Executor, steps.Group = true, 0
			return steps, nil
		case steps.Group == 0:
			steps.Group = g.ID
		}
	}
	return steps, nil
}
