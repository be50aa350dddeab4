package jobspec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	robfig "github.com/robfig/cron/v3"

	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Schedule is the part of a definition that says when a job is due.
type Schedule struct {
	Type    ScheduleType
	Conf    string // what Type makes of it: a cron text, or seconds
	Misfire Misfire
	Last    int            // of MisfireFireLast
	Within  time.Duration  // of MisfireFireWithin
	Zone    *time.Location // where cron times are read; nil is UTC
	Start   time.Time      // no due time before; zero: no bound
	End     time.Time      // no due time after; zero: no bound

	Calendar *calendar.Calendar // whose days it keeps to; nil for none
	Rule     CalendarRule
}

// Waiting is the due time of a FIX_DELAY job whose run has not ended: so far ahead that nobody ever finds it due, the old
// admin included, and still a number that fits everywhere.
var Waiting = time.UnixMilli(9_000_000_000_000_000)

// ErrMoment is wrapped by the error for a moment of a ONCE job that cannot be read.
var ErrMoment = errors.New("the moment must be written as 2006-01-02 15:04:05, or in RFC 3339")

// ErrInterval is wrapped by the error for a fixed rate that is no whole number of seconds from 1 to [MaxIntervalSeconds].
var ErrInterval = errors.New("the interval must be a whole number of seconds, 1 or more")

// MaxIntervalSeconds is the longest fixed rate, some 68 years: XXL-JOB reads the number into a Java int.
const MaxIntervalSeconds = math.MaxInt32

// Next is the first due time after the given one: for FIX_RATE that time plus the interval, so that a schedule computed
// from its own due times keeps its phase. The zero time means never, which is the answer for the types that do not
// schedule. Errors are a [*cron.ParseError], a [*cron.EvalError] or wrap [ErrInterval].
func Next(t ScheduleType, conf string, after time.Time, loc *time.Location) (time.Time, error) {
	times, err := timesOf(t, conf, loc)
	if err != nil {
		return time.Time{}, err
	}
	return times.Next(after), nil
}

// timesOf reads when a job is due. Every type of schedule answers through the interface of robfig/cron.
func timesOf(t ScheduleType, conf string, loc *time.Location) (robfig.Schedule, error) {
	loc = cmp.Or(loc, time.UTC)
	switch t {
	case ScheduleCron:
		e, err := expressions.parse(conf)
		if err != nil {
			return nil, err
		}
		return e.In(loc)
	case ScheduleFixRate, ScheduleFixDelay: // a delay counts from the end of a run, or from the start of the job
		every, err := Interval(conf)
		return rate(every), err
	case ScheduleOnce:
		at, err := Moment(conf, loc)
		return single(at), err
	case ScheduleNone:
		return never{}, nil
	default:
		// As XXL-JOB does: a stored type that it does not know never becomes due.
		return never{}, nil
	}
}

// rate is due that long after the time asked about.
type rate time.Duration

func (r rate) Next(after time.Time) time.Time { return after.Add(time.Duration(r)) }

// single is due once.
type single time.Time

func (s single) Next(after time.Time) time.Time {
	if at := time.Time(s); at.After(after) {
		return at
	}
	return time.Time{}
}

// never is due at no time.
type never struct{}

func (never) Next(time.Time) time.Time { return time.Time{} }

// plain is Next without the calendar. A fixed rate or delay that has not begun yet begins at the start.
func (s Schedule) plain(after time.Time) (time.Time, error) {
	next, err := Next(s.Type, s.Conf, after, s.Zone)
	if err == nil && after.Before(s.Start) {
		switch s.Type {
		case ScheduleFixRate, ScheduleFixDelay:
			next = s.Start
		case ScheduleCron, ScheduleOnce:
			next, err = Next(s.Type, s.Conf, s.Start.Add(-time.Nanosecond), s.Zone)
		case ScheduleNone:
		}
	}
	if err != nil || s.ended(next) {
		return time.Time{}, err
	}
	return next, nil
}

// ended reports whether a due time lies behind the end.
func (s Schedule) ended(due time.Time) bool { return !s.End.IsZero() && due.After(s.End) }

// Moment reads the conf of a ONCE job: wall-clock time in the job's zone, or an instant in RFC 3339.
func Moment(conf string, loc *time.Location) (time.Time, error) {
	at, ok := expr.Moment(conf, loc)
	if !ok {
		return time.Time{}, fmt.Errorf("moment %q: %w", conf, ErrMoment)
	}
	return at, nil
}

// Interval reads the conf of a FIX_RATE or FIX_DELAY job.
func Interval(conf string) (time.Duration, error) {
	n, err := strconv.ParseInt(conf, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("fixed rate %q: %w", conf, ErrInterval)
	}
	return time.Duration(n) * time.Second, nil
}

// ScheduleError puts an error of [Next], [Decide] or [Interval] in the form that [Validate] uses. ok is false when err is
// none of theirs, or nil.
func ScheduleError(err error) (e invalid.Field, ok bool) {
	if parse, ok := errors.AsType[*cron.ParseError](err); ok {
		return invalid.Field{Name: FieldCron, Key: cronError + string(parse.Reason), Noun: cronNoun(parse.Field), Args: []any{
			"Element", parse.Element, "Symbol", parse.Symbol, "Min", parse.Min, "Max", parse.Max, "Count", parse.Got,
		}}, true
	}
	if eval, ok := errors.AsType[*cron.EvalError](err); ok {
		return invalid.Field{Name: FieldCron, Key: cronError + "no_value", Noun: cronNoun(eval.Field)}, true
	}
	if errors.Is(err, ErrInterval) {
		return invalid.Field{Name: FieldSeconds, Key: CodeInterval, Args: []any{"Min", 1, "Max", MaxIntervalSeconds}}, true
	}
	if errors.Is(err, ErrMoment) {
		return invalid.Field{Name: FieldMoment, Key: CodeMoment}, true
	}
	return invalid.Field{}, false
}

// cronNoun is the word for the field of a cron text in which a fault lies; "" for none.
func cronNoun(f cron.Field) string {
	if f == "" {
		return ""
	}
	return "cron.field." + string(f)
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
