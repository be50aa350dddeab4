package link

// HelpPath explains the words of the console.
const HelpPath = "/help"

// Help is the help page at one of its sections.
func Help(section string) string { return HelpPath + "#" + section }
