package transfer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
)

// readKept reads where jobs are kept, if that matters.
func (m *importer) readKept(ctx context.Context, ids []int64) error {
	m.kept, m.declared = make(map[int64]db.FileJob), make(map[int64]bool)
	if m.opts.Source == "" && !m.s.cfg.Settings.FilesHold() {
		return nil
	}
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), 500) {
		rows, err := m.s.queries.ListFileJobsByID(ctx, m.s.cfg.Pool, part)
		if err != nil {
			return fmt.Errorf("read where jobs are kept: %w", db.Error(err))
		}
		for _, row := range rows {
			m.kept[row.JobID] = row
		}
		declared, err := m.s.queries.ListDeclaredJobIDs(ctx, m.s.cfg.Pool, part)
		if err != nil {
			return fmt.Errorf("read which jobs programs bring: %w", db.Error(err))
		}
		for _, id := range declared {
			m.declared[id] = true
		}
	}
	return nil
}

// readPruned finds the jobs of the source that are in its files no more, as far as the principal may see them.
func (m *importer) readPruned(ctx context.Context) error {
	if m.opts.Source == "" || !m.opts.Prune {
		return nil
	}
	rows, err := m.s.queries.ListFileJobsOfSource(ctx, m.s.cfg.Pool, m.opts.Source)
	if err != nil {
		return fmt.Errorf("read the jobs of a source: %w", db.Error(err))
	}
	var ids []int64
	for _, row := range rows {
		if _, here := m.here[row.JobID]; !here {
			ids = append(ids, row.JobID)
		}
	}
	if m.pruned, err = m.s.cfg.Jobs.Stored(ctx, ids); err != nil {
		return err
	}
	maps.DeleteFunc(m.pruned, func(_ int64, j db.Job) bool { return !m.p.CanUseGroup(j.JobGroup) })
	return nil
}

// prune adds the jobs that are to be deleted.
func (m *importer) prune(ctx context.Context) error {
	gone := make(map[int64]bool)
	for id := range m.pruned {
		gone[id] = true
	}
	used, err := m.s.cfg.Jobs.UsedByRest(ctx, m.p, gone)
	if err != nil {
		return err
	}
	apps := make(map[int64]string)
	for _, g := range m.groups {
		apps[g.ID] = g.AppName
	}
	for _, id := range slices.Sorted(maps.Keys(m.pruned)) {
		j := m.pruned[id]
		m.items = append(m.items, Item{ID: id, AppName: apps[j.JobGroup], Name: j.JobDesc, Outcome: Delete, Used: m.staying(used[id]), group: executor{id: j.JobGroup}, old: j})
		if !m.p.Can(j.JobGroup, auth.RightEdit) {
			m.fault(len(m.items)-1, manage.FieldGroup, "import.error.right_edit", "Name", apps[j.JobGroup])
		}
	}
	return nil
}

// staying leaves out the jobs of the file: those that use what is deleted are refused, or use it no more once the file is applied.
func (m *importer) staying(used manage.UsedBy) manage.UsedBy {
	inFile := func(c manage.Child) bool { _, is := m.here[c.ID]; return is }
	used.Parents.Jobs = slices.DeleteFunc(used.Parents.Jobs, inFile)
	used.Flows.Jobs = slices.DeleteFunc(used.Flows.Jobs, inFile)
	return used
}

// keepSame notes where the jobs are kept that stay as they are. Most of all have nothing new but the revision.
func (w *work) keepSame(ctx context.Context) error {
	if w.opts.Source == "" {
		return nil
	}
	var moved []int64
	for i := range w.items {
		item := &w.items[i]
		if item.Outcome != Same {
			continue
		}
		version := manage.JobVersion(item.old)
		if item.Waits {
			var err error
			if version, err = w.s.cfg.Jobs.AppliedVersion(ctx, item.old, &item.in.GlueSource); err != nil {
				return err
			}
		}
		switch k := item.kept; {
		case k.Source != w.opts.Source || k.Version != version:
			if err := w.keep(ctx, item.ID, version); err != nil {
				return err
			}
		case k.Revision != w.opts.Revision:
			moved = append(moved, item.ID)
		}
	}
	for part := range slices.Chunk(moved, 500) {
		err := w.s.queries.SetFileRevision(ctx, w.s.cfg.Pool, db.SetFileRevisionParams{Source: w.opts.Source, Revision: w.opts.Revision, AppliedAt: w.s.cfg.Now().UnixMilli(), Ids: part})
		if err != nil {
			return fmt.Errorf("note the revision of jobs: %w", db.Error(err))
		}
	}
	return nil
}

// keepSaved notes where those are kept that were created or changed, and what they are now.
func (w *work) keepSaved(ctx context.Context) error {
	if w.opts.Source == "" {
		return nil
	}
	var saved []int64
	for _, item := range w.items {
		if item.Outcome == Create || item.Outcome == Change {
			saved = append(saved, item.ID)
		}
	}
	stored, err := w.s.cfg.Jobs.Stored(ctx, saved)
	if err != nil {
		return err
	}
	var rows []db.SaveFileJobParams
	for _, item := range w.items {
		if item.Outcome != Create && item.Outcome != Change {
			continue
		}
		version, err := w.s.cfg.Jobs.AppliedVersion(ctx, stored[item.ID], &item.in.GlueSource)
		if err != nil {
			return err
		}
		rows = append(rows, w.keeping(item.ID, version))
	}
	if err := db.SaveFileJobs(ctx, w.s.cfg.Pool, rows); err != nil {
		return db.Error(err)
	}
	return nil
}

// keeping notes that the source keeps a job, which is what the version says.
func (w *work) keeping(id int64, version string) db.SaveFileJobParams {
	return db.SaveFileJobParams{JobID: id, Source: w.opts.Source, Revision: w.opts.Revision, Version: version, AppliedAt: w.s.cfg.Now().UnixMilli()}
}

func (w *work) keep(ctx context.Context, id int64, version string) error {
	if err := w.s.queries.SaveFileJob(ctx, w.s.cfg.Pool, w.keeping(id, version)); err != nil {
		return fmt.Errorf("note where a job is kept: %w", db.Error(err))
	}
	return nil
}
