package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/cronjob"
	"github.com/punctual-job/punctual/app/manage/jobfile"
)

type cronKubernetesCmd struct {
	File   string `arg:"" default:"-" help:"Manifests, as kubectl get cronjobs -o yaml, helm template and kustomize build print them; - for standard input."`
	Group  string `required:"" placeholder:"APP-NAME" help:"The group of executors that is to run the jobs."`
	Author string `env:"USER" default:"kubernetes" placeholder:"NAME" help:"Whose jobs they are."`
	Zone   string `default:"Etc/UTC" placeholder:"ZONE" help:"In which the times of CronJobs without a timeZone are read: that of the cluster's controller."`
	Pods   bool   `help:"Each run has Kubernetes start a Job of the CronJob, which stays in the cluster, suspended; the executors need kubectl. Without it the command of the container runs where they do."`
	HTTP   bool   `name:"http" help:"Commands that are one call of curl become HTTP jobs."`
}

// Run prints a file of stopped jobs for apply, and on standard error what has to be known. A CronJob that is left out is a failure.
func (c *cronKubernetesCmd) Run(s streams) error {
	if _, err := time.LoadLocation(c.Zone); err != nil || c.Zone == "" || c.Zone == "Local" {
		return setting("--zone", fmt.Errorf("%q is not a time zone", c.Zone))
	}
	text, err := readConverted(c.File, s.in, cronjob.MaxText)
	if err != nil {
		return err
	}
	opts := cronjob.Options{AppName: c.Group, Author: c.Author, Zone: c.Zone, Pods: c.Pods}
	if c.HTTP {
		opts.HTTP = manage.HTTPAppName
	}
	file, notes, err := cronjob.Convert(text, opts)
	if err != nil {
		return err
	}
	raw, err := jobfile.Write(file, jobfile.YAML)
	if err != nil {
		return err
	}
	if _, err := s.out.Write(raw); err != nil {
		return err
	}
	left := 0
	for _, n := range notes {
		if n.LeftOut {
			left++
			n.Text = "left out: " + n.Text
		}
		if n.Name != "" {
			n.Text = n.Name + ": " + n.Text
		}
		if n.Line > 0 {
			n.Text = fmt.Sprintf("line %d: %s", n.Line, n.Text)
		}
		fmt.Fprintln(s.err, n.Text)
	}
	if left > 0 {
		return errors.New(app.Counted("%d {CronJob is|CronJobs are} not in the file", left))
	}
	return nil
}
