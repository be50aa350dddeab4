// Package account says what became of every fire that was planned for a time: it computes the fires from the definitions as they
// were ([Fires]), and holds the runs on record against them ([Settle]). It is the promise of this program as a sum that anybody can
// do again, so it shares nothing with the engine but the schedules' dialect: no database, no clock.
//
//	definitions, each for its time ──▶ fires ──┐
//	                                           ├──▶ a finding for each fire ──▶ [Report]
//	runs on record ────────────────────────────┘
//
// A definition says how far its fires had been decided when it ended: those before must be on record, each as a run of its own or
// as one of those that another run stands for. Those after were left out by whoever changed the definition. What somebody else
// changed in the database is known only from when it was noticed, and the fires in between are findings of [Unknown] unless they
// are on record. The same holds of the time before a change of the calendar that a definition names: its days are kept as they are now alone.
//
// FIX_DELAY jobs are due when their runs end, so their fires are the runs on record: none can be found missing.
package account
