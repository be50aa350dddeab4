package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/manage/crontab"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/locales"
)

type cronConvertCmd struct {
	File   string `arg:"" default:"-" help:"A crontab, as crontab -l prints it; - for standard input."`
	Group  string `required:"" placeholder:"APP-NAME" help:"The group of executors that are to run the commands: they run as the user whose crontab it is."`
	Author string `env:"USER" default:"crontab" placeholder:"NAME" help:"Whose jobs they are."`
	Zone   string `placeholder:"ZONE" help:"In which its times are read, such as Asia/Shanghai, where no CRON_TZ says otherwise; default that of the installation."`
	System bool   `help:"The lines have a user after the five times, as /etc/crontab has: the jobs of each user go to a group APP-NAME-user."`
}

// Run prints a file of stopped jobs for apply, and on standard error what has to be known. A line that is left out is a failure.
func (c *cronConvertCmd) Run(s streams) error {
	if c.Zone != "" {
		if _, err := time.LoadLocation(c.Zone); err != nil {
			return setting("--zone", fmt.Errorf("%q is not a time zone", c.Zone))
		}
	}
	text, err := readConverted(c.File, s.in, crontab.MaxText)
	if err != nil {
		return err
	}
	file, notes := crontab.Convert(text, crontab.Options{AppName: c.Group, Author: c.Author, Zone: c.Zone, System: c.System})
	raw, err := jobfile.Write(file, jobfile.YAML)
	if err != nil {
		return err
	}
	if _, err := s.out.Write(raw); err != nil {
		return err
	}
	words, left := locales.New().Printer(locales.English), 0
	for _, n := range notes {
		fmt.Fprintf(s.err, "line %d: %s\n", n.Line, words.T("crontab.note."+string(n.Kind), "Text", n.Text, "Name", n.Name))
		if n.LeftOut() {
			left++
		}
	}
	if left > 0 {
		return errors.New(app.Counted("%d {line is|lines are} not in the file", left))
	}
	return nil
}

// readConverted reads what is to be converted: a file, or standard input.
func readConverted(name string, in io.Reader, most int) (string, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if err != nil {
		return "", err
	}
	if len(raw) > most {
		return "", fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return string(raw), nil
}
