// Package archive keeps copies of what runs write, so that there is an answer to "why did it fail" when the executor is gone.
//
//	engine ── results, same commit ──▶ row of the commit ── [Service.Offer] ──▶ queue ──▶ workers ── /log ──▶ executor
//	                                     ▲           ╲                               │ excerpts
//	                        look (found again after a crash)                         ▼
//	       long runs ── every few seconds, /log ──────────────────────────────▶ writer ──▶ [Store], rows "whole"
//
// What ends in one commit is one row of punctual_output_ended, which goes when each of its runs has a row of punctual_output, or is known
// to have written nothing (ended.go). So a run costs one row, written once: to note it there first and to change it then took half as much
// again of the database as all else of a run. Only what cannot be copied at once has a row before, "due".
//
// An executor of ours pushes the output before the result ([Service.Take]), to whichever admin. It waits for the writer and, if that takes
// not long, for the result; its row is "whole" then, or "live" until the result comes. Then nobody asks, unless it was not written in time.
//
// What an admin has in its hands it does not ask about: that there is no row of a run that was too short to be followed, that a run has ended
// which it copies, that what it has written may go from the commits. All of it is in memory and bounded; what is not there is read.
//
// The engine waits for none of it: what does not fit into the queue stays noted, and the look finds it. A commit belongs to the admin
// that took the results; when that is gone, the leading one takes it over.
//
// # The copy of a run
//
// An [excerpt] keeps the beginning and the end of an output within a number of bytes, in whole lines, and counts the lines between
// them. Excerpts of many runs are written together: small ones share a block, which is compressed (and sealed, where there is a secret
// key) as a whole; the blocks of one write are an object of the store; a row of punctual_output says where in it a run's text is. So
// ten thousand runs a second make one object a second. A run that goes on has the copy of what it wrote so far, which is written anew
// as a whole whenever there is more.
//
// # Search
//
// There is no index. Beside its row an object has a [filter], which says of most texts that they are not in the object, so that a search
// reads few objects that do not have its text. Filters are in a table of their own, because objects are counted and walked through often.
//
// # Deleting
//
// Rows go in the transaction that deletes their runs. An object counts the rows that are in it, in the same transactions; when none is
// left it is deleted, and when most are gone, what is left moves to a new one (tidy.go). An object is noted before it is made, so that
// a crash between leaves nothing in the store that no row knows. A copy of a database may have a store in common with the original
// ([Limits].Shared): what was there before stays in the store, because no row says whether the original still needs it.
package archive
