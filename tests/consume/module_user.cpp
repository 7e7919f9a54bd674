import consumer;

int main() { return version_of(0); }
