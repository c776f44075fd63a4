"""The command ``attnspec``: its options, what each subcommand does, the processes they share, the files they write."""
