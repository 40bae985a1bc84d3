"""The file that a study is saved in: an archive of JSON and arrays, whose parts are checked one by one."""
