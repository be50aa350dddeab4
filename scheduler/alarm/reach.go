package alarm

import (
	"context"
	"fmt"

	"github.com/wneessen/go-mail/smtp"

	"github.com/punctual-job/punctual/db"
)

// ReachMail tries the servers of the mail channels that are switched on, up to their login: no mail is sent. It says how many there are, and of
// those that do not take it why.
func (a *Alarmer) ReachMail(ctx context.Context) (tried int, failed []string, err error) {
	rows, err := a.queries.ListAlarmChannels(ctx, a.cfg.Pool)
	if err != nil {
		return 0, nil, fmt.Errorf("read alarm channels: %w", db.Error(err))
	}
	for i := range rows {
		row := &rows[i]
		if Kind(row.Kind) != KindMail || row.Enabled == 0 {
			continue
		}
		tried++
		if err := a.reachMail(ctx, row); err != nil {
			failed = append(failed, row.Name+": "+err.Error())
		}
	}
	return tried, failed, nil
}

func (a *Alarmer) reachMail(ctx context.Context, row *db.AlarmChannel) error {
	c, err := a.channelOf(row)
	if err != nil {
		return &Failure{troubleOf(nil, reasonOf(err))}
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.SendTimeout)
	defer cancel()
	outside := row.GroupID != 0 && a.cfg.Defaults().DenyPrivate
	if err := a.withMailServer(ctx, &c.settings, outside, func(*smtp.Client) error { return nil }); err != nil {
		return &Failure{troubleOf(c.settings.secrets(), reasonOf(err))}
	}
	return nil
}
