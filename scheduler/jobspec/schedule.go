package jobspec

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// Schedule is the part of a definition that says when a job is due.
type Schedule struct {
	Type    ScheduleType
	Conf    string // what Type makes of it: a cron text, or seconds
	Misfire Misfire
	Zone    *time.Location // where cron times are read; nil is UTC
}

// ErrInterval is wrapped by the error for a fixed rate that is no whole number of seconds from 1 to [MaxIntervalSeconds].
var ErrInterval = errors.New("the interval must be a whole number of seconds, 1 or more")

// MaxIntervalSeconds is the longest fixed rate, some 68 years: XXL-JOB reads the number into a Java int.
const MaxIntervalSeconds = math.MaxInt32

// Next is the first due time after the given one: for FIX_RATE that time plus the interval, so that a schedule computed
// from its own due times keeps its phase. The zero time means never, which is the answer for the types that do not
// schedule. Errors are a [*cron.ParseError], a [*cron.EvalError] or wrap [ErrInterval].
func Next(t ScheduleType, conf string, after time.Time, loc *time.Location) (time.Time, error) {
	switch t {
	case ScheduleCron:
		e, err := expressions.parse(conf)
		if err != nil {
			return time.Time{}, err
		}
		return e.Next(after, loc)
	case ScheduleFixRate:
		every, err := Interval(conf)
		if err != nil {
			return time.Time{}, err
		}
		return after.Add(every), nil
	case ScheduleNone, ScheduleFixDelay:
		return time.Time{}, nil
	default:
		// As XXL-JOB does: a stored type that it does not know never becomes due.
		return time.Time{}, nil
	}
}

// Next is [Next] for this schedule.
func (s Schedule) Next(after time.Time) (time.Time, error) {
	return Next(s.Type, s.Conf, after, s.Zone)
}

// Interval reads the conf of a FIX_RATE job.
func Interval(conf string) (time.Duration, error) {
	n, err := strconv.ParseInt(conf, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("fixed rate %q: %w", conf, ErrInterval)
	}
	return time.Duration(n) * time.Second, nil
}

// ScheduleError puts an error of [Next], [Decide] or [Interval] in the form that [Validate] uses. ok is false when err is
// none of theirs, or nil.
func ScheduleError(err error) (e FieldError, ok bool) {
	if parse, ok := errors.AsType[*cron.ParseError](err); ok {
		return FieldError{Field: FieldCron, Code: Code(cronError + string(parse.Reason)), CronField: parse.Field, Args: []any{
			"Element", parse.Element, "Symbol", parse.Symbol, "Min", parse.Min, "Max", parse.Max, "Got", parse.Got,
		}}, true
	}
	if eval, ok := errors.AsType[*cron.EvalError](err); ok {
		return FieldError{Field: FieldCron, Code: cronError + "no_value", CronField: eval.Field}, true
	}
	if errors.Is(err, ErrInterval) {
		return FieldError{Field: FieldSeconds, Code: CodeInterval, Args: []any{"Min", 1, "Max", MaxIntervalSeconds}}, true
	}
	return FieldError{}, false
}

// expressions keeps cron texts parsed: a claim asks for the next time of each due job, and parsing costs some forty times
// as much as that.
var expressions = expressionCache{limit: 1 << 16}

// expressionCache forgets at random when it is full, which needs no bookkeeping on the path that matters, the hit.
type expressionCache struct {
	limit int

	mu     sync.RWMutex
	parsed map[string]*cron.Expression
}

func (c *expressionCache) parse(text string) (*cron.Expression, error) {
	c.mu.RLock()
	e, ok := c.parsed[text]
	c.mu.RUnlock()
	if ok {
		return e, nil
	}
	// Texts that do not parse are not kept: the job that has one is stopped at once.
	e, err := cron.Parse(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parsed == nil {
		c.parsed = make(map[string]*cron.Expression)
	}
	for old := range c.parsed {
		if len(c.parsed) < c.limit {
			break
		}
		delete(c.parsed, old)
	}
	c.parsed[text] = e
	return e, nil
}
